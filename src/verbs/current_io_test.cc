#include "verbena/current_io.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/verbs_world.h"
#include "verbena/managed_memory.h"
#include "verbs/memory_objects.h"

namespace verbena {
namespace {

using adapter::GuestControl;
using adapter::QuiesceState;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint64_t kPage = 4'096, kBytes = 64 * kPage;

// A peer `a`, and a program `b` whose memory the host swaps out.
class RegionIoTest : public VerbsPairTest {
 protected:
  MemoryRegion Register(const RegionOptions& options) {
    return Good(MemoryRegion::Register(b_.domain, memory_.bytes(), Access::kAll, options));
  }
  static GuestControl& HostOf(const MemoryRegion& region) { return region.object()->control(); }
  static QuiesceState Quiesce(const MemoryRegion& region) {
    return *HostOf(region).QuiesceRegion(region.l_key(), {}, Seconds(20));
  }
  CompletionStatus Read(const MemoryRegion& from) {
    const verbena::Read read{.data = a_.region.Local(0, kPage), .remote = from.Remote(0)};
    EXPECT_TRUE(qa_.Post(read).has_value());
    return a_.WaitStatus().value_or(CompletionStatus::kGeneralError);
  }

  ManagedMemory memory_ = Good(ManagedMemory::Create(
      b_.context, {.size = kBytes, .budget = kBytes, .swap = ::testing::TempDir()}));
};

TEST_F(RegionIoTest, SwapOutWaitsForTheLastOperation) {
  const MemoryRegion region = Register({.current_io = true});
  const RegionIo io = region.current_io();
  ASSERT_TRUE(io);
  EXPECT_TRUE(io.Begin(3));
  EXPECT_EQ(Quiesce(region), QuiesceState::kQuiescing);
  EXPECT_TRUE(io.is_quiesced());
  EXPECT_FALSE(io.Begin());
  EXPECT_TRUE(io.End(2));
  EXPECT_FALSE(HostOf(region).SwapOutRegion(region.l_key()));
  EXPECT_TRUE(io.End());
  EXPECT_TRUE(HostOf(region).SwapOutRegion(region.l_key())) << "the last operation has ended";
  EXPECT_FALSE(io.Wait(milliseconds(1)));

  std::atomic<int> calls = 0;
  EXPECT_TRUE(io.CallWhenBack([&] { ++calls; }));
  std::thread waiter([&] { EXPECT_TRUE(io.Wait(seconds(20))); });
  EXPECT_TRUE(HostOf(region).SwapInRegion(region.l_key()));
  waiter.join();
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(io.Begin());
  EXPECT_TRUE(io.End());
  EXPECT_EQ(Read(region), CompletionStatus::kSuccess);
}

TEST_F(RegionIoTest, RefusesToEndMoreOperationsThanBegun) {
  const MemoryRegion region = Register({.current_io = true});
  EXPECT_EQ(region.current_io().End().error().code, ErrorCode::kInvalid);
  EXPECT_EQ(RegionIo().End().error().code, ErrorCode::kInvalid);
}

TEST_F(RegionIoTest, ARegionWithoutAWordHasNoCount) {
  const MemoryRegion region = Register({});
  EXPECT_FALSE(region.current_io());
  EXPECT_FALSE(region.current_io().Begin());
  EXPECT_FALSE(MemoryRegion().current_io());
}

TEST_F(RegionIoTest, AStrictRegionRefusesWhileItIsOut) {
  const MemoryRegion region = Register({.refuses_when_out = true});
  EXPECT_EQ(Quiesce(region), QuiesceState::kQuiet);
  EXPECT_TRUE(HostOf(region).SwapOutRegion(region.l_key()));
  EXPECT_EQ(Read(region), CompletionStatus::kRemoteAccessError);
}

TEST_F(RegionIoTest, DeregistrationFreesTheCurrentIoWord) {
  for (int i = 0; i < 5'000; ++i) {
    const MemoryRegion region = Register({.current_io = true});
    ASSERT_TRUE(region.current_io().Begin()) << i;
  }
}

}  // namespace
}  // namespace verbena
