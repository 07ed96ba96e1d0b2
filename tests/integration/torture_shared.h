#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "base/check.h"
#include "queue/completion.h"
#include "tests/integration/torture_arena.h"
#include "tests/support/adapter_world.h"

namespace verbena::torture {

constexpr uint64_t kPlainPages = 256;
constexpr uint64_t kFilePages = 64;
constexpr uint64_t kAllPages = kPlainPages + kFilePages;

struct Settings {
  bool page_events = false;
  int seconds = 15;
  uint64_t seed = 1;
};
inline Settings settings;

// Accesses of one kind: how many, and how many met unmapped pages.
struct Tally {
  std::atomic<uint64_t> all = 0;
  std::atomic<uint64_t> away = 0;
};

// The memory that the two processes share: the epochs of the pages, and connection state.
struct Shared {
  const uint16_t base_port = adapter::TestBasePort();
  std::array<Epoch, kAllPages> epochs;
  std::array<std::atomic<uint64_t>, kAllPages> addresses;
  std::array<std::atomic<uint32_t>, kAllPages> keys;
  std::atomic<uint32_t> asked = 0;     // connections that the peer has requested
  std::atomic<uint32_t> answered = 0;  // connections that the victim has made
  std::atomic<uint32_t> peer_qp = 0;
  std::atomic<uint32_t> victim_qp = 0;
  std::atomic<bool> is_over = false;
  Tally remote;                       // by the two peers: reads, writes, atomics, sends
  Tally receives;                     // of the victim
  Tally own;                          // of the victim as requester
  Tally unreliable;                   // of the victim as a sender on UC and UD
  std::atomic<uint64_t> arrived = 0;  // UC and UD messages, on either side
};

inline Shared* MakeShared() {
  void* const place =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(place != MAP_FAILED);
  return new (place) Shared;
}

// Equal for all adapters, so that they find each other.
inline adapter::AdapterOptions OptionsOf(const Shared& shared) {
  adapter::AdapterOptions options;
  options.base_port = options.endpoint_base_port = shared.base_port;
  options.endpoints_max = adapter::kTestEndpoints;
  options.page_events = settings.page_events;
  return options;
}

// The pages of a request, and their epochs at its start.
class PageEpochs {
 public:
  PageEpochs(const Shared& shared, std::vector<uint64_t> slots)
      : shared_(&shared), slots_(std::move(slots)) {
    for (const uint64_t slot : slots_) before_.push_back(shared.epochs[slot].load());
  }

  uint64_t slot(size_t i) const { return slots_[i]; }
  uint32_t before(size_t i) const { return before_[i]; }

  // Whether no page has changed since then.
  bool unchanged() const {
    for (size_t i = 0; i < slots_.size(); ++i) {
      const uint32_t now = shared_->epochs[slots_[i]].load();
      if (now != before_[i] || now % 2 != 0) return false;
    }
    return true;
  }
  // Expects that the program has changed the memory: only then a request may fail.
  void ExpectChanged(CompletionStatus status) const {
    EXPECT_FALSE(unchanged()) << "page " << slots_.front() << " is mapped, but: " << NameOf(status);
    StopIfFailed();
  }
  // Checks the result of a request. `refusal` is the status for unmapped memory.
  void CheckResult(CompletionStatus status, CompletionStatus refusal, Tally& tally) const {
    tally.all.fetch_add(1);
    if (status == CompletionStatus::kSuccess) return;
    tally.away.fetch_add(1);
    EXPECT_EQ(status, refusal);
    ExpectChanged(status);
  }
  // Checks the bytes that the request read from the program's part of a page, up to epoch `after`.
  void CheckStamps(std::span<const std::byte> seen, size_t i, uint32_t after) const {
    for (size_t at = 0; at < seen.size(); at += sizeof(uint64_t)) {
      const uint64_t word = WordAt(seen.data() + at);
      EXPECT_TRUE(MayBeSeen(word, slots_[i], before_[i], after))
          << "page " << slots_[i] << ": " << std::hex << word << std::dec << " between "
          << before_[i] << " and " << after;
    }
    StopIfFailed();
  }
  uint32_t now(size_t i) const { return shared_->epochs[slots_[i]].load(); }

  // Stops at once, so that the cause can be examined.
  static void StopIfFailed() {
    if (testing::Test::HasFailure()) std::abort();
  }

 private:
  const Shared* shared_;
  std::vector<uint64_t> slots_;
  std::vector<uint32_t> before_;
};

// 0.5 s with seven retries: on a busy machine a process may wait that long for a processor.
constexpr adapter::TestLink kLink{.timeout = 17, .mtu = PathMtu::k1024};

inline adapter::QueuePair& MakeQp(adapter::TestNode& node, QpType type, adapter::Cq& send_cq,
                                  adapter::Cq& receive_cq) {
  adapter::QpInit spec = node.Spec(type);
  spec.send_cq = &send_cq;
  spec.receive_cq = &receive_cq;
  return **node.adapter().CreateQp(spec);
}

// The next completion of a request that must not hang.
inline Completion MustComplete(adapter::TestNode& node, adapter::Cq& cq) {
  const auto completion = node.Wait(&cq);
  CHECK(completion.has_value());
  return *completion;
}

}  // namespace verbena::torture
