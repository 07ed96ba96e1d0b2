#include "odp/residency_scan.h"

#include <sys/mman.h>

#include <cstring>

#include <gtest/gtest.h>

#include "memory/address.h"

namespace verbena::odp {
namespace {

constexpr uint64_t kPage = 4'096;
constexpr uint64_t kBytes = ResidencyScan::kBlockBytes;
constexpr Duration kPeriod = Milliseconds(100);

class ResidencyScanTest : public testing::Test {
 protected:
  ResidencyScanTest() {
    start_ = static_cast<std::byte*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    madvise(start_, kBytes, MADV_NOHUGEPAGE);
    std::memset(start_, 1, kBytes);
    const memory::RegionSpec spec{
        .pd = pd_, .start = KeyAddress(Address(0)), .length = kBytes, .rights = Access::kLocalRead};
    key_ = core_.regions.Register(spec, memory::LinearBacking{memory::PhysicalAddress(Address(0))})
               ->local;
    EXPECT_TRUE(core_.regions.MapPages(key_, 0, kBytes / kPage, {}, true).has_value());
  }
  ~ResidencyScanTest() override { munmap(start_, kBytes); }

  uint64_t Address(uint64_t page) const {
    return reinterpret_cast<uintptr_t>(start_) + page * kPage;
  }
  bool IsKnown(uint64_t page) const {
    const memory::Translation translation = core_.translator.Translate(
        key_, KeyAddress(Address(page)), 8, memory::AccessKind::kLocalRead, {pd_, QpNumber(1)});
    return AsReady(translation) != nullptr;
  }
  uint64_t LookNow(Time now) {
    watch_.Begin();
    watch_.Probe(ResidencyProbe());
    return watch_.Finish(core_, now);
  }

  memory::MemoryCore core_;
  memory::PdId pd_ = *core_.domains.Allocate(*core_.consumers.Open({}));
  std::byte* start_ = nullptr;
  Key key_;
  ResidencyScan watch_{kPeriod};
  const Time begin_{Seconds(1)};
};

TEST_F(ResidencyScanTest, NothingIsDueBeforeMemoryIsNoted) {
  EXPECT_FALSE(watch_.IsDue(begin_));
  watch_.Note(Address(0), kBytes, begin_);
  EXPECT_FALSE(watch_.IsDue(begin_));
  EXPECT_TRUE(watch_.IsDue(begin_ + kPeriod));
}

TEST_F(ResidencyScanTest, MarksExactlyTheEvictedPagesAbsent) {
  watch_.Note(Address(0), kBytes, begin_);
  madvise(start_ + 3 * kPage, 2 * kPage, MADV_DONTNEED);
  munmap(start_ + 9 * kPage, kPage);
  EXPECT_EQ(LookNow(begin_ + kPeriod), 3U);
  for (const uint64_t gone : {3U, 4U, 9U}) EXPECT_FALSE(IsKnown(gone)) << gone;
  for (const uint64_t left : {2U, 5U, 8U, 10U, 511U}) EXPECT_TRUE(IsKnown(left)) << left;
  EXPECT_FALSE(watch_.IsDue(begin_ + kPeriod));
  EXPECT_TRUE(watch_.IsDue(begin_ + kPeriod * 2));
}

TEST_F(ResidencyScanTest, ProbesThePagesFromTheFirstToTheLastNotedAndNoOthers) {
  watch_.Note(Address(200), kPage, begin_);
  watch_.Note(Address(100), 2 * kPage, begin_);
  watch_.Note(Address(150), kPage, begin_);
  for (const uint64_t page : {99U, 100U, 160U, 200U, 201U}) {
    madvise(start_ + page * kPage, kPage, MADV_DONTNEED);
  }
  EXPECT_EQ(LookNow(begin_ + kPeriod), 3U);
  for (const uint64_t gone : {100U, 160U, 200U}) EXPECT_FALSE(IsKnown(gone)) << gone;
  for (const uint64_t left : {99U, 101U, 201U}) EXPECT_TRUE(IsKnown(left)) << left;
}

TEST_F(ResidencyScanTest, PagesThatAreNotedDuringAProbeAreProbedNextTime) {
  watch_.Note(Address(100), kPage, begin_);
  madvise(start_, kBytes, MADV_DONTNEED);
  watch_.Begin();
  watch_.Note(Address(7), kPage, begin_);
  watch_.Probe(ResidencyProbe());
  EXPECT_EQ(watch_.Finish(core_, begin_ + kPeriod), 1U);
  EXPECT_TRUE(IsKnown(7));
  EXPECT_GT(LookNow(begin_ + kPeriod * 2), 0U);
  EXPECT_FALSE(IsKnown(7));
}

TEST_F(ResidencyScanTest, RestsForManyTimesAsLongAsAProbeTook) {
  constexpr Duration kShort = Nanoseconds(1);
  ResidencyScan watch(kShort);
  watch.Note(Address(0), kBytes, begin_);
  watch.Begin();
  watch.Probe(ResidencyProbe());
  EXPECT_EQ(watch.Finish(core_, begin_), 0U);
  // A system call takes more than a hundred nanoseconds.
  EXPECT_FALSE(watch.IsDue(begin_ + Nanoseconds(100) * ResidencyScan::kRest));
  EXPECT_TRUE(watch.IsDue(begin_ + Seconds(10)));
}

TEST_F(ResidencyScanTest, MemoryThatTheTablesDoNotNameIsNotProbed) {
  watch_.Note(Address(0), kBytes, begin_);
  EXPECT_GT(watch_.block_count(), 0U);
  ASSERT_TRUE(core_.regions.Deregister(key_).has_value());
  EXPECT_EQ(LookNow(begin_ + kPeriod), 0U);
  EXPECT_EQ(watch_.block_count(), 0U);
  EXPECT_FALSE(watch_.IsDue(begin_ + Seconds(100)));
}

TEST_F(ResidencyScanTest, PagesOfPageListsBecomeAbsentToo) {
  const memory::PhysicalAddress page(Address(7));
  const memory::RegionSpec spec{
      .pd = pd_, .start = {}, .length = kPage, .rights = Access::kLocalRead};
  const auto list = core_.regions.Register(spec, memory::PageListBacking{.pages = {&page, 1}});
  ASSERT_TRUE(list.has_value());
  watch_.Note(Address(0), kBytes, begin_);
  madvise(start_ + 7 * kPage, kPage, MADV_DONTNEED);
  EXPECT_EQ(LookNow(begin_ + kPeriod), 2U);
  EXPECT_FALSE(IsKnown(7));
  const memory::Translation gone = core_.translator.Translate(
      list->local, KeyAddress(0), 8, memory::AccessKind::kLocalRead, {pd_, QpNumber(1)});
  EXPECT_NE(AsFault(gone), nullptr);
}

// More blocks than one probe takes: each gets its turn.
TEST_F(ResidencyScanTest, ProbesAllBlocksInTurn) {
  constexpr uint64_t kFar = uint64_t{1} << 40;
  watch_.Note(Address(0), kBytes, begin_);
  watch_.Note(kFar, kBytes * ResidencyScan::kBlocksAtOnce, begin_);
  madvise(start_, kBytes, MADV_DONTNEED);
  const size_t rounds = watch_.block_count() / ResidencyScan::kBlocksAtOnce + 1;
  uint64_t gone = 0;
  for (size_t i = 0; i < rounds && watch_.block_count() > 0; ++i) gone += LookNow(begin_);
  EXPECT_EQ(gone, kBytes / kPage);
  EXPECT_EQ(watch_.block_count(), 0U) << "all were evicted";
}

TEST_F(ResidencyScanTest, CanBeOff) {
  ResidencyScan off(Duration::Max());
  off.Note(Address(0), kBytes, begin_);
  EXPECT_EQ(off.block_count(), 0U);
  EXPECT_FALSE(off.IsDue(Time(Seconds(1'000'000))));
}

}  // namespace
}  // namespace verbena::odp
