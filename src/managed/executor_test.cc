#include "managed/executor.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/support/counted_allocations.h"

namespace verbena::managed {
namespace {

constexpr PageShift kGranule(12);
constexpr uint32_t kGranules = 256;
constexpr uint32_t kBudget = 32;

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the clock is a function
Time now;

// A view without a program: the test sets which accesses fault, and reads what is mapped.
class ViewForTest final : public CpuView {
 public:
  void Unmap(paging::Run run) override { Set(run, 0); }
  void Map(paging::Run run, bool is_writable) override {
    Set(run, is_writable ? 2 : 1);
    ++maps;
  }
  void Refuse(paging::Run run) override { Set(run, -1); }
  void Wake(paging::Run run) override { woken += run.count; }
  size_t TakeFaults(std::span<CpuFault> faults) override {
    const size_t count = std::min(faults.size(), coming_count);
    std::copy_n(coming.begin(), count, faults.begin());
    coming_count = 0;
    return count;
  }
  int fd() const override { return -1; }
  void Stop() override {}
  const char* method() const override { return "test"; }

  std::array<int, kGranules> rights{};  // -1 refused, 1 read, 2 write
  std::array<CpuFault, 8> coming;
  size_t coming_count = 0;
  int maps = 0;
  uint32_t woken = 0;

 private:
  void Set(paging::Run run, int value) {
    for (uint32_t i = run.first; i < run.end(); ++i) rights[i] = value;
  }
};

class ExecutorTest : public testing::Test {
 protected:
  ExecutorTest() : memory_(std::move(MemoryFile::Make(kGranules * 4096, kGranule).value())) {
    now = Time();
    MakeStore({});
  }

  void MakeStore(SwapOptions options) {
    options.granule = kGranule;
    options.granule_count = kGranules;
    executor_.reset();
    store_ = std::make_unique<SwapStore>(MakeSwapFile("/tmp", SwapStore::kTransfersMax).value(),
                                         options);
    executor_ = std::make_unique<Executor>(
        Executor::Parts{*memory_, view_, *store_},
        ArenaOptions{.size = kGranules * 4096,
                     .budget = kBudget * 4096,
                     .paging = {.tickets_max = 64, .patience = Milliseconds(1)},
                     .now = [] { return now; }},
        ArenaCallbacks{.on_ready =
                           [this](uint64_t ticket, const Answer& answer) {
                             answered_ticket_ = ticket;
                             answer_ = answer;
                             ++answers_;
                           },
                       .unmap_adapter =
                           [this](auto ranges) {
                             unmaps_ += ranges.size();
                             ++unmap_calls_;
                           },
                       .on_store = {}});
  }

  // A program thread faults, and the executor serves the fault.
  void Fault(uint32_t granule, bool is_write) {
    view_.coming[view_.coming_count++] = {granule, is_write};
    executor_->ServeFaults();
  }
  // Faults, and waits until the program has these rights.
  void Await(uint32_t granule, int rights) {
    Fault(granule, rights == 2);
    while (view_.rights[granule] < rights) Step();
  }
  void Step() {
    now += Microseconds(10);
    executor_->OnTime();
    executor_->ServeStore();
    EXPECT_FALSE(store_->has_outcomes()) << "no event would wake the pager for these";
  }
  std::byte& First(uint32_t granule) { return memory_->Contents({granule, 1})[0]; }

  std::unique_ptr<MemoryFile> memory_;
  ViewForTest view_;
  std::unique_ptr<SwapStore> store_;
  std::unique_ptr<Executor> executor_;
  uint64_t answered_ticket_ = 0;
  Answer answer_ = 0;
  int answers_ = 0;
  size_t unmaps_ = 0;
  size_t unmap_calls_ = 0;
};

TEST_F(ExecutorTest, AFaultMapsWhatItNeeds) {
  Fault(5, false);
  EXPECT_EQ(view_.rights[5], 1);
  EXPECT_EQ(executor_->residency(5), Residency::kInMemory);
  Fault(5, true);
  EXPECT_EQ(view_.rights[5], 2);
  EXPECT_EQ(executor_->residency(6), Residency::kAbsent);
}

TEST_F(ExecutorTest, DiscardingASwappedGranuleFreesItsCopy) {
  for (uint32_t i = 0; i < kGranules; ++i) {
    Await(i, 2);
    First(i) = std::byte{1};
  }
  uint32_t swapped = 0;
  while (executor_->residency(swapped) != Residency::kSwapped) ++swapped;
  executor_->Serve({.kind = Request::Kind::kDiscard, .first_byte = swapped * 4096, .length = 4096});
  EXPECT_EQ(executor_->residency(swapped), Residency::kAbsent);
}

TEST_F(ExecutorTest, ThreadsThatWaitForOneGranuleShareARequest) {
  for (uint32_t i = 0; i < kGranules; ++i) {
    Await(i, 2);
    First(i) = static_cast<std::byte>(i);
  }
  uint32_t absent = 0;
  while (executor_->residency(absent) != Residency::kSwapped) ++absent;
  const uint64_t requests = executor_->report().paging.requests;
  for (int i = 0; i < 3; ++i) view_.coming[view_.coming_count++] = {absent, false};
  executor_->ServeFaults();
  EXPECT_EQ(executor_->report().paging.requests, requests + 1);
  while (view_.rights[absent] == 0) Step();
  EXPECT_EQ(First(absent), static_cast<std::byte>(absent));
}

TEST_F(ExecutorTest, ASequentialWalkFaultsSeldom) {
  executor_->Serve({.kind = Request::Kind::kSetBudget, .length = kGranules * 4096});
  uint32_t faults = 0;
  for (uint32_t i = 0; i < kGranules; ++i) {
    if (view_.rights[i] == 2) continue;
    Await(i, 2);
    ++faults;
  }
  EXPECT_LE(faults, 7 + kGranules / FaultStreams::kWindowMax);
}

TEST_F(ExecutorTest, AWriteMakesNoOtherGranuleWithContentsDirty) {
  for (uint32_t i = 0; i < kGranules; ++i) {
    Await(i, 2);
    First(i) = std::byte{1};
  }
  executor_->Serve({.kind = Request::Kind::kSetBudget, .length = kGranules * 4096});
  for (uint32_t i = 0; i < kGranules; ++i) Await(i, 1);
  for (uint32_t i = 0; i < kGranules; ++i) {
    if (view_.rights[i] == 2) continue;  // dirty from before
    Await(i, 2);
    if (i + 1 < kGranules && view_.rights[i + 1] == 1) return;
  }
  ADD_FAILURE() << "each write made the next granule writable";
}

TEST_F(ExecutorTest, AWalkThatWritesFaultsSeldomWhereThereAreContents) {
  executor_->Serve({.kind = Request::Kind::kSetBudget, .length = kGranules * 4096});
  for (uint32_t i = 0; i < kGranules; ++i) {
    Await(i, 2);
    First(i) = static_cast<std::byte>(i);
  }
  executor_->Serve({.kind = Request::Kind::kSwapOut, .length = kGranules * 4096, .ticket = 1});
  while (memory_->resident_bytes() > 0) Step();
  uint32_t faults = 0;
  for (uint32_t i = 0; i < kGranules; ++i) {
    if (view_.rights[i] < 2) ++faults, Await(i, 2);
    EXPECT_EQ(First(i), static_cast<std::byte>(i));
  }
  EXPECT_LE(faults, 8 + kGranules / FaultStreams::kWindowMax);
}

TEST_F(ExecutorTest, ThreadsBehindAPartialAnswerAreWoken) {
  // A walk with a small budget: only a part of a requested window is paged in.
  executor_->Serve({.kind = Request::Kind::kSetBudget, .length = 16 * 4096});
  for (uint32_t i = 0; i < 100; ++i) Await(i, 2);
  EXPECT_GT(view_.woken, 0u);
}

TEST_F(ExecutorTest, TheAdapterIsAnsweredInBytes) {
  executor_->Serve({.for_write = true, .first_byte = 4000, .length = 200, .ticket = 77});
  EXPECT_EQ(answered_ticket_, 77u);
  EXPECT_EQ(answer_, Answer(200));
  EXPECT_EQ(executor_->residency(1), Residency::kInMemory);
  // A request for more than the budget is answered in part.
  executor_->Serve({.first_byte = 100, .length = 200 * 4096, .ticket = 78});
  while (answers_ < 2) Step();
  EXPECT_EQ((*answer_ + 100) % 4096, 0u);
  EXPECT_LT(*answer_, 200 * 4096u);
}

TEST_F(ExecutorTest, LeavingGranulesAreUnmappedForTheAdapterFirst) {
  executor_->Serve({.for_write = true, .first_byte = 0, .length = 1, .ticket = 1});
  for (uint32_t i = 1; i < kGranules; ++i) Await(i, 2);
  EXPECT_EQ(unmaps_, 1U);
  EXPECT_NE(executor_->residency(0), Residency::kInMemory);
}

TEST_F(ExecutorTest, GranulesThatLeaveTogetherAreUnmappedInOneCall) {
  constexpr uint64_t kEverySecond = 8192;
  for (uint64_t at = 0; at < kGranules * 4096; at += kEverySecond) {
    executor_->Serve({.for_write = true, .first_byte = at, .length = 1, .ticket = at});
    while (answered_ticket_ != at) Step();
  }
  EXPECT_GE(unmaps_, kGranules / 2 - kBudget);
  EXPECT_LE(unmap_calls_ * 2, unmaps_);
}

TEST_F(ExecutorTest, AThreadThatWaitsForMemoryIsServedLater) {
  MakeStore({.bytes_max = 0});  // full from the start
  Random random(1);
  uint32_t next = 0;
  Fault(next, true);
  while (executor_->report().paging.refused_limit == 0) {
    if (view_.rights[next] == 2) {
      for (std::byte& byte : memory_->Contents({next, 1})) {
        byte = static_cast<std::byte>(random.Next32());
      }
      Fault(++next, true);
    }
    Step();
  }
  EXPECT_EQ(view_.rights[next], 0);
  // The program discards some granules, and the waiting thread gets their memory.
  executor_->Serve({.kind = Request::Kind::kDiscard, .first_byte = 0, .length = 16 * 4096});
  for (int i = 0; i < 10'000 && view_.rights[next] == 0; ++i) Step();
  EXPECT_EQ(view_.rights[next], 2);
}

TEST_F(ExecutorTest, OrdersBeyondTheStoresLimitAreSubmittedLater) {
  MakeStore({.orders_max = 1});
  Random random(2);
  std::array<std::byte, kGranules> last{};
  for (int i = 0; i < 2000; ++i) {
    const auto granule = static_cast<uint32_t>(random.Below(kGranules));
    Await(granule, 2);
    ASSERT_EQ(First(granule), last[granule]);
    // Sometimes zero: the store ends such an order at once.
    First(granule) = last[granule] = static_cast<std::byte>(random.Below(3));
  }
  EXPECT_GT(executor_->report().swap.zero, 0u);
}

TEST_F(ExecutorTest, ChangesOfTheBudgetTakeEffect) {
  for (uint32_t i = 0; i < kBudget; ++i) Await(i, 2);
  executor_->Serve({.kind = Request::Kind::kSetBudget, .length = 16 * 4096});
  for (int i = 0; i < 1000 && memory_->resident_bytes() > 16 * 4096; ++i) Step();
  EXPECT_LE(memory_->resident_bytes(), 16 * 4096u);
  EXPECT_EQ(executor_->report().budget_bytes, 16 * 4096u);
}

TEST_F(ExecutorTest, AllocatesNothingInSteadyState) {
  Random random(3);
  const auto run = [&](int steps) {
    for (int i = 0; i < steps; ++i) {
      const auto granule = static_cast<uint32_t>(random.Below(kGranules));
      Await(granule, random.Chance(1, 2) ? 2 : 1);
      if (view_.rights[granule] == 2) First(granule) = static_cast<std::byte>(random.Next32());
      executor_->Serve({.for_write = random.Chance(1, 2),
                        .first_byte = random.Below(kGranules - 4) * 4096,
                        .length = 4 * 4096,
                        .ticket = 1});
      Step();
    }
  };
  // Lists grow to the most orders that were ever in flight. That depends on the threads of the swap
  // file, so it takes longer on a busy machine.
  size_t grown = 1;
  for (int round = 0; round < 10 && grown > 0; ++round) {
    const size_t before = allocations;
    run(3000);
    grown = allocations - before;
  }
  EXPECT_EQ(grown, 0u);
  EXPECT_GT(executor_->report().swap.loaded, 1000u);
}

}  // namespace
}  // namespace verbena::managed
