#pragma once

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/fault_memory.h"
#include "bench/fault_world.h"

// Storms: many queue pairs that fault at the same time.

namespace verbena::bench {

// The pages of a storm, one for each queue pair: how they become absent, and the cost of paging
// them in without an adapter.
class StormMemory {
 public:
  StormMemory() = default;
  StormMemory(const StormMemory&) = delete;
  StormMemory& operator=(const StormMemory&) = delete;
  virtual ~StormMemory() = default;

  [[nodiscard]] virtual std::span<std::byte> bytes() const = 0;
  // Pages in without an adapter, with one call for each page; returns the time in ns. Call it
  // before the storm, because an implementation that uses the storm's own pages makes them absent.
  virtual int64_t PageInBare(bool for_write) = 0;
};

// Memory that was never touched: the cost of a zero page.
class ZeroMemory final : public StormMemory {
 public:
  explicit ZeroMemory(size_t pages) : pages_(pages * kPage), bare_(pages * kPage) {}

  [[nodiscard]] std::span<std::byte> bytes() const override { return pages_.bytes(); }
  int64_t PageInBare(bool for_write) override {
    return TimeOf([&] {
      for (size_t at = 0; at < bare_.bytes().size(); at += kPage) {
        Populate(bare_.bytes().subspan(at, kPage), for_write);
      }
    });
  }

 private:
  const FreshPages pages_, bare_;
};

// Memory on a simulated disk with a delay for each page.
class SlowMemory final : public StormMemory {
 public:
  static constexpr auto kDelay = std::chrono::microseconds(500);

  explicit SlowMemory(size_t pages) : memory_(pages) {}

  [[nodiscard]] std::span<std::byte> bytes() const override { return memory_.bytes(); }
  int64_t PageInBare(bool for_write) override {
    ZeroMemory bare(memory_.bytes().size() / kPage);
    const SlowStorage storage(bare.bytes(), kDelay);
    return TimeOf([&] {
      for (size_t at = 0; at < bare.bytes().size(); at += kPage) {
        Populate(bare.bytes().subspan(at, kPage), for_write);
      }
    });
  }

 private:
  const ZeroMemory memory_;
  const SlowStorage storage_{memory_.bytes(), kDelay};
};

// Managed memory, swapped out to a file that is not in the page cache.
class SwappedMemory final : public StormMemory {
 public:
  SwappedMemory(const Context& context, size_t pages)
      : name_("/tmp/fault_cost.XXXXXX"), file_(mkstemp(name_.data())), used_(pages * kPage) {
    MustCall(file_ >= 0, "mkstemp");
    const uint64_t size = used_ + kSpare;
    memory_ =
        MakeManaged(context, {.size = size, .budget = size, .swap = name_, .compress = false});
    unlink(name_.c_str());
  }
  ~SwappedMemory() override { close(file_); }

  [[nodiscard]] std::span<std::byte> bytes() const override { return memory_.bytes().first(used_); }
  int64_t PageInBare(bool) override {
    SwapOut();
    std::array<std::byte, kPage> page;
    const int64_t time = TimeOf([&] {
      for (size_t at = 0; at < used_; at += kPage) {
        MustCall(pread(file_, page.data(), kPage, static_cast<off_t>(at)) == kPage, "pread");
      }
    });
    ForgetCached();
    return time;
  }

 private:
  static constexpr uint64_t kBudgetMin = 16 * kPage;
  static constexpr uint64_t kSpare = 128 * kPage;  // fills the minimum budget

  void SwapOut() {
    Must(memory_.SetBudget(kBudgetMin));
    while (!AreOut()) {
      for (size_t at = used_; at < memory_.bytes().size(); at += kPage) {
        memory_.bytes()[at] = std::byte{1};
      }
    }
    ForgetCached();
    Must(memory_.SetBudget(memory_.bytes().size()));
  }
  [[nodiscard]] bool AreOut() const {
    const auto places = Must(memory_.Places());
    return std::all_of(places.begin(), places.begin() + static_cast<ptrdiff_t>(used_ / kPage),
                       [](PagePlace place) { return place == PagePlace::kSwapped; });
  }
  void ForgetCached() const {
    MustCall(fdatasync(file_) == 0, "fdatasync");
    posix_fadvise(file_, 0, 0, POSIX_FADV_DONTNEED);
  }

  std::string name_;
  const int file_;
  const size_t used_;
  ManagedMemory memory_;
};

enum class Kind : uint8_t { kZero, kSlow, kSwapped };

// Runs storms over enough connections for the largest one.
class Storm {
 public:
  static constexpr size_t kQpsMax = 1'000;

  Storm() {
    for (size_t i = 0; i < kQpsMax; ++i) connections_.push_back(world_.Connect());
  }

  nlohmann::json Run(size_t qps, Kind kind, bool at_requester, bool at_responder) {
    const auto source = Make(at_requester ? kind : std::optional<Kind>(), qps, world_.near());
    const auto target = Make(at_responder ? kind : std::optional<Kind>(), qps, world_.far());
    int64_t bare = 0;
    if (at_requester) bare += source->PageInBare(false);
    if (at_responder) bare += target->PageInBare(true);
    const MemoryRegion from = world_.near().Register(source->bytes());
    const MemoryRegion to = world_.far().Register(target->bytes());
    if (!at_requester) Advise(from);
    if (!at_responder) Advise(to);
    const QpCounters before = Count();
    const int64_t cold = TimeOf([&] { WriteAll(qps, from, to); });
    const QpCounters after = Count();
    const int64_t warm = TimeOf([&] { WriteAll(qps, from, to); });
    return {{"qps", qps},
            {"requester", at_requester},
            {"responder", at_responder},
            {"page_ins_us", static_cast<double>(bare) / 1e3},
            {"cold_us", static_cast<double>(cold) / 1e3},
            {"warm_us", static_cast<double>(warm) / 1e3},
            {"faults", after.page_requests - before.page_requests},
            {"rnr_naks", after.rnr_naks - before.rnr_naks},
            {"timeouts", after.timeouts - before.timeouts}};
  }

 private:
  // Without a kind: resident memory.
  static std::unique_ptr<StormMemory> Make(std::optional<Kind> kind, size_t pages, const End& end) {
    if (kind == Kind::kSlow) return std::make_unique<SlowMemory>(pages);
    if (kind == Kind::kSwapped) return std::make_unique<SwappedMemory>(end.context, pages);
    auto made = std::make_unique<ZeroMemory>(pages);
    if (!kind) Populate(made->bytes(), true);
    return made;
  }

  static void Advise(const MemoryRegion& region) {
    Must(region.Advise(0, region.length(), Advice::kPrefetchWrite, true));
  }

  void WriteAll(size_t qps, const MemoryRegion& from, const MemoryRegion& to) {
    size_t done = 0;
    for (size_t i = 0; i < qps; ++i) {
      Must(connections_[i].near.Post(
          Write{.data = from.Local(i * kPage, kPage), .remote = to.Remote(i * kPage)}));
      // Polls after each post, so that packets do not overflow the socket of the responder.
      done += world_.Poll().size();
    }
    world_.WaitFor(qps - done);
  }

  [[nodiscard]] QpCounters Count() const {
    QpCounters sum;
    for (const Connection& connection : connections_) {
      for (const QueuePair* const qp : {&connection.near, &connection.far}) {
        const QpCounters one = Must(qp->Query()).counters;
        sum.page_requests += one.page_requests;
        sum.rnr_naks += one.rnr_naks;
        sum.timeouts += one.timeouts;
      }
    }
    return sum;
  }

  World world_;
  std::vector<Connection> connections_;
};

inline nlohmann::json MeasureStorms() {
  constexpr size_t kSizes[] = {1, 10, 100, Storm::kQpsMax};
  constexpr int kRepetitions = 5;
  Storm storm;
  const auto measure = [&](Kind kind) {
    nlohmann::json runs = nlohmann::json::array();
    for (const size_t qps : kSizes) {
      for (int i = 0; i < (qps < Storm::kQpsMax ? kRepetitions : 1); ++i) {
        runs.push_back(storm.Run(qps, kind, true, false));
        runs.push_back(storm.Run(qps, kind, false, true));
        runs.push_back(storm.Run(qps, kind, true, true));
      }
    }
    return runs;
  };
  nlohmann::json found = {{"zero", measure(Kind::kZero)}, {"swapped", measure(Kind::kSwapped)}};
  if (SlowStorage::IsAllowed()) found["slow"] = measure(Kind::kSlow);
  return found;
}

}  // namespace verbena::bench
