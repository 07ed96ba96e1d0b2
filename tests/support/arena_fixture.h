#pragma once

#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "managed/arena.h"
#include "memory/copy/guarded_copy.h"
#include "tests/support/troubled_swap_file.h"

namespace verbena::managed {

inline constexpr uint64_t kMebibyte = uint64_t{1} << 20;

// The clock of these tests.
inline Time Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return Time(Seconds(now.tv_sec) + Nanoseconds(now.tv_nsec));
}

// Plays the adapter: knows which pages it may access, and waits for page-ins.
class AdapterForTest {
 public:
  explicit AdapterForTest(uint64_t pages) : rights_(pages) {}

  ArenaCallbacks callbacks() {
    return {.on_ready = [this](uint64_t ticket, const Answer& answer) { Ready(ticket, answer); },
            .unmap_adapter = [this](auto ranges) { Unmap(ranges); },
            .on_store = [this](paging::StoreReport report) { last_report = report; }};
  }
  void Attach(Arena& arena) { arena_ = &arena; }

  // Requests the bytes, waits, and runs `use` on the bytes that are present, while Unmap waits.
  // Returns their number; 0 if the request is refused.
  uint64_t Access(uint64_t first_byte, uint64_t length, bool for_write,
                  const std::function<void(std::byte*, uint64_t)>& use) {
    Wait wait{.first_byte = first_byte, .for_write = for_write};
    std::unique_lock lock(mutex_);
    const uint64_t ticket = next_ticket_++;
    waits_[ticket] = &wait;
    arena_->PageIn(first_byte, length, for_write, ticket);
    changed_.wait(lock, [&] { return wait.is_answered; });
    // Only bytes that are still present: a granule can be evicted before this thread wakes up.
    const uint64_t page = arena_->granule().bytes();
    uint64_t usable = 0;
    while (usable < wait.bytes && Allows(first_byte + usable, for_write)) {
      usable = std::min(wait.bytes, (first_byte + usable) / page * page + page - first_byte);
    }
    if (usable > 0) use(arena_->adapter_base() + first_byte, usable);
    was_refused_ = wait.was_refused;
    return usable;
  }
  bool was_refused() const { return was_refused_; }

  std::atomic<paging::StoreReport> last_report = paging::StoreReport::kWell;

 private:
  struct Wait {
    uint64_t first_byte;
    bool for_write;
    uint64_t bytes = 0;
    bool is_answered = false;
    bool was_refused = false;
  };

  bool Allows(uint64_t byte, bool for_write) const {
    return rights_[byte >> arena_->granule().value()] >= (for_write ? 2 : 1);
  }

  void Ready(uint64_t ticket, const Answer& answer) {
    const std::lock_guard lock(mutex_);
    Wait& wait = *waits_.extract(ticket).mapped();
    wait.bytes = answer ? *answer : 0;
    wait.was_refused = !answer;
    wait.is_answered = true;
    const uint64_t page = arena_->granule().bytes();
    for (uint64_t at = wait.first_byte / page; at * page < wait.first_byte + wait.bytes; ++at) {
      rights_[at] = std::max<uint8_t>(rights_[at], wait.for_write ? 2 : 1);
    }
    changed_.notify_all();
  }

  void Unmap(std::span<const std::span<std::byte>> ranges) {
    const std::lock_guard lock(mutex_);
    const unsigned shift = arena_->granule().value();
    for (const std::span<std::byte> range : ranges) {
      const auto first = static_cast<uint64_t>(range.data() - arena_->adapter_base());
      for (uint64_t i = first >> shift; i < (first + range.size()) >> shift; ++i) rights_[i] = 0;
    }
  }

  Arena* arena_ = nullptr;
  std::mutex mutex_;  // locked while the bytes are used, so that Unmap waits
  std::condition_variable changed_;
  std::map<uint64_t, Wait*> waits_;
  uint64_t next_ticket_ = 1;
  std::vector<uint8_t> rights_;  // by granule: 1 read, 2 write
  std::atomic<bool> was_refused_ = false;
};

// An arena, an adapter and a swap file with injected failures, for each CPU view that the system
// supports. Belongs to one test, all of whose threads may use it.
class ArenaFixture : public testing::TestWithParam<CpuViewKind> {
 protected:
  void SetUp() override { memory::SignalGuard::Install(); }

  static ArenaOptions Options(uint64_t size, uint64_t budget) {
    return {.size = size, .budget = budget, .view = GetParam(), .swap = "/tmp", .now = Now};
  }

  // False if the system has no such view.
  bool Make(ArenaOptions options) {
    options.wrap_swap_file = [this](std::unique_ptr<SwapFile> file) {
      return std::make_unique<TroubledSwapFile>(std::move(file), trouble_);
    };
    adapter_ = std::make_unique<AdapterForTest>(options.size >> 12);
    auto arena = Arena::Make(options, adapter_->callbacks());
    if (!arena) return false;
    arena_ = std::move(*arena);
    adapter_->Attach(*arena_);
    words_ = reinterpret_cast<uint64_t*>(arena_->bytes().data());
    return true;
  }

  uint64_t Read(uint64_t page) const {
    return static_cast<volatile uint64_t*>(words_)[page * kWordsPerPage];
  }
  void Write(uint64_t page, uint64_t value) {
    static_cast<volatile uint64_t*>(words_)[page * kWordsPerPage] = value;
  }
  bool CanRead(uint64_t page) const {
    return memory::GuardedLoad64(words_ + page * kWordsPerPage).has_value();
  }

  static constexpr uint64_t kPage = 4096;
  static constexpr uint64_t kWordsPerPage = kPage / 8;

  std::shared_ptr<SwapTrouble> trouble_ = std::make_shared<SwapTrouble>();
  std::unique_ptr<AdapterForTest> adapter_;
  std::unique_ptr<Arena> arena_;
  uint64_t* words_ = nullptr;
};

// A thread that polls the resident bytes of an arena, and keeps the maximum.
class ResidentPeak {
 public:
  explicit ResidentPeak(const Arena& arena)
      : thread_([this, &arena] {
          while (!stops_) {
            peak_ = std::max<uint64_t>(peak_, arena.resident_bytes());
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
        }) {}
  ~ResidentPeak() { Stop(); }
  uint64_t Stop() {
    stops_ = true;
    if (thread_.joinable()) thread_.join();
    return peak_;
  }

 private:
  std::atomic<bool> stops_ = false;
  std::atomic<uint64_t> peak_ = 0;
  std::thread thread_;
};

// Detects stale pages. Every page has a lock and a generation; a write puts a stamp of the new
// generation into all words of the page, and a read compares them with the last stamp.
class Stamped {
 public:
  Stamped(uint64_t* words, uint64_t pages) : words_(words), generations_(pages), locks_(pages) {}

  void Touch(uint64_t page, bool for_write) {
    const std::lock_guard lock(locks_[page]);
    Use(words_ + page * kWords, page, for_write);
  }
  // Checks and stamps the page through any mapping: `words` is its start. REQUIRES: the page's
  // lock.
  void Use(uint64_t* words, uint64_t page, bool for_write) {
    uint64_t& generation = generations_[page];
    for (uint64_t i = 0; i < kWords; ++i) wrong_ += words[i] != StampOf(page, generation, i);
    if (!for_write) return;
    ++generation;
    for (uint64_t i = 0; i < kWords; ++i) words[i] = StampOf(page, generation, i);
  }
  std::mutex& lock(uint64_t page) { return locks_[page]; }
  uint64_t wrong() const { return wrong_; }
  uint64_t pages() const { return generations_.size(); }

 private:
  static constexpr uint64_t kWords = 512;

  // Even pages repeat one word, odd pages do not compress: this covers both storage formats.
  static uint64_t StampOf(uint64_t page, uint64_t generation, uint64_t word) {
    if (generation == 0) return 0;
    if (page % 2 == 0) return page << 32 | generation;
    return (page << 32 | generation) * 0x9E3779B97F4A7C15u ^ word * 0xBF58476D1CE4E5B9u;
  }

  uint64_t* const words_;
  std::vector<uint64_t> generations_;
  std::vector<std::mutex> locks_;
  std::atomic<uint64_t> wrong_ = 0;
};

// The next page. `order` 0: random; 1: sequential; otherwise: a few pages often.
inline uint64_t NextPage(Random& random, int order, uint64_t pages, uint64_t before) {
  if (order == 0) return random.Below(pages);
  if (order == 1) return (before + 1) % pages;
  // Similar to a Zipf distribution: each power-of-two range of ranks is equally likely.
  const uint64_t rank = random.Below(pages) >> random.Below(14);
  return rank * 7919 % pages;
}

inline std::string NameOf(const testing::TestParamInfo<CpuViewKind>& kind) {
  return kind.param == CpuViewKind::kUserfault ? "userfault" : "signal";
}

#define MAKE_OR_SKIP(options) \
  if (!Make(options)) GTEST_SKIP() << "the system does not support this CPU view"

}  // namespace verbena::managed
