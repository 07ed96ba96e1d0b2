#include "odp/page_jobs.h"

#include <array>

#include <gtest/gtest.h>

namespace verbena::odp {
namespace {

using memory::AccessKind;

constexpr uint64_t kBase = 0x7000'0000'0100;  // not on a page border; never accessed
constexpr uint64_t kBytes = 64 * 4'096;

class PageJobsTest : public testing::Test {
 protected:
  memory::RegionKeys Register(const memory::Backing& backing, uint64_t start, uint64_t length) {
    return *core_.regions.Register({.pd = pd_,
                                    .start = KeyAddress(start),
                                    .length = length,
                                    .rights = Access::kLocalRead | Access::kLocalWrite},
                                   backing);
  }
  memory::Translation Translate(Key key, uint64_t at, uint64_t length,
                                AccessKind access = AccessKind::kLocalWrite) {
    return core_.translator.Translate(key, KeyAddress(at), length, access, {pd_, QpNumber(1)});
  }
  transport::PageRequest RequestFor(Key key, uint64_t at, uint64_t length,
                                    AccessKind access = AccessKind::kLocalWrite) {
    const memory::Translation translation = Translate(key, at, length, access);
    EXPECT_NE(AsFault(translation), nullptr);
    return {QpNumber(1), transport::FaultTicket(1), *AsFault(translation)};
  }

  memory::MemoryCore core_;
  ResidencyScan watch_{Duration::Max()};
  memory::PdId pd_ = *core_.domains.Allocate(
      *core_.consumers.Open({.table = memory::ConsumerSpec::PrivateTable{.identity = true}}));
};

TEST_F(PageJobsTest, FindsThePagesOfARegionAndMapsThem) {
  const auto keys = Register(memory::LinearBacking{memory::PhysicalAddress(kBase)}, kBase, kBytes);
  const auto request = RequestFor(keys.local, kBase + 4'096, 8'192);
  PageJob job = JobFor(core_, request, kBytes);
  EXPECT_EQ(job.address, 0x7000'0000'1000U);
  EXPECT_EQ(job.page_count, 3U);
  job.paged_in = 3;
  EXPECT_TRUE(MapPages(core_, watch_, job, Time()));
  EXPECT_NE(AsReady(Translate(keys.local, kBase + 4'096, 8'192)), nullptr);
  EXPECT_NE(AsFault(Translate(keys.local, kBase, 8)), nullptr);
}

TEST_F(PageJobsTest, IsBoundedButHasAtLeastOnePage) {
  const auto keys = Register(memory::LinearBacking{memory::PhysicalAddress(kBase)}, kBase, kBytes);
  const auto request = RequestFor(keys.local, kBase, kBytes);
  EXPECT_EQ(JobFor(core_, request, 10 * 4'096).page_count, 10U);
  EXPECT_EQ(JobFor(core_, request, 1).page_count, 1U);
}

TEST_F(PageJobsTest, AnImplicitRegionCountsFromAddressZero) {
  const auto keys = Register(memory::AddressSpaceBacking{}, 0, ~uint64_t{0});
  const auto request = RequestFor(keys.local, kBase, 4'096);
  PageJob job = JobFor(core_, request, kBytes);
  EXPECT_EQ(job.address, 0x7000'0000'0000U);
  EXPECT_EQ(job.page_count, 2U);
  job.paged_in = 2;
  EXPECT_TRUE(MapPages(core_, watch_, job, Time()));
  const memory::Translation ready = Translate(keys.local, kBase, 4'096);
  ASSERT_NE(AsReady(ready), nullptr);
  EXPECT_EQ(AsReady(ready)->spans[0].address.value(), kBase);
}

// Pages of a list are restored as far as they are contiguous.
TEST_F(PageJobsTest, FindsThePagesOfAList) {
  constexpr uint64_t kFrame = 0x7000'0000'0000;
  const std::array list{memory::PhysicalAddress(kFrame), memory::PhysicalAddress(kFrame + 4'096),
                        memory::PhysicalAddress(kFrame + 0x9000)};
  const auto keys = Register(memory::PageListBacking{.pages = list}, 0, 3 * 4'096);
  core_.MarkMachineAbsent(memory::MachineAddress(kFrame), memory::MachineAddress(kFrame + 0xffff));
  PageJob job = JobFor(core_, RequestFor(keys.local, 0, 3 * 4'096), kBytes);
  EXPECT_EQ(job.address, kFrame);
  EXPECT_EQ(job.page_count, 2U);
  job.paged_in = 2;
  EXPECT_TRUE(MapPages(core_, watch_, job, Time()));
  EXPECT_TRUE(MapPages(core_, watch_, job, Time())) << "another queue pair waited for them, too";
  EXPECT_NE(AsReady(Translate(keys.local, 0, 2 * 4'096)), nullptr);
  job = JobFor(core_, RequestFor(keys.local, 0, 3 * 4'096), kBytes);
  EXPECT_EQ(job.address, kFrame + 0x9000);
  EXPECT_EQ(job.page_count, 1U);
}

// A request that waited for memory may find a shorter list under the same key.
TEST_F(PageJobsTest, APageBehindTheEndOfAListIsNotAvailable) {
  const std::array list{memory::PhysicalAddress(0x7000'0000'0000)};
  const auto keys = Register(memory::PageListBacking{.pages = list}, 0, 4'096);
  core_.MarkMachineAbsent(memory::MachineAddress(0x7000'0000'0000),
                          memory::MachineAddress(0x7000'0000'0fff));
  transport::PageRequest request = RequestFor(keys.local, 0, 4'096);
  request.fault.first_page = 5'000;
  EXPECT_EQ(JobFor(core_, request, kBytes).page_count, 0U);
}

// A receive and a send from the same page are posted together, and the send's page is entered last.
TEST_F(PageJobsTest, ReadingKeepsPagesWritable) {
  for (const memory::RegionKeys& keys :
       {Register(memory::LinearBacking{memory::PhysicalAddress(kBase)}, kBase, kBytes),
        Register(memory::AddressSpaceBacking{}, 0, ~uint64_t{0})}) {
    PageJob read =
        JobFor(core_, RequestFor(keys.local, kBase, 8'192, AccessKind::kLocalRead), kBytes);
    PageJob write = JobFor(core_, RequestFor(keys.local, kBase, 8), kBytes);
    write.paged_in = 1;
    EXPECT_TRUE(MapPages(core_, watch_, write, Time()));
    read.paged_in = 3;
    EXPECT_TRUE(MapPages(core_, watch_, read, Time()));
    EXPECT_NE(AsReady(Translate(keys.local, kBase, 8)), nullptr);
    EXPECT_NE(AsReady(Translate(keys.local, kBase, 8'192, AccessKind::kLocalRead)), nullptr);
    EXPECT_NE(AsFault(Translate(keys.local, kBase + 4'096, 8)), nullptr);
  }
}

TEST_F(PageJobsTest, ADeregisteredRegionIsRefused) {
  const auto keys = Register(memory::LinearBacking{memory::PhysicalAddress(kBase)}, kBase, kBytes);
  const auto request = RequestFor(keys.local, kBase, 8);
  PageJob job = JobFor(core_, request, kBytes);
  EXPECT_FALSE(MapPages(core_, watch_, job, Time())) << "nothing was paged in";
  job.paged_in = 1;
  ASSERT_TRUE(core_.regions.Deregister(keys.local).has_value());
  EXPECT_FALSE(MapPages(core_, watch_, job, Time()));
  EXPECT_EQ(JobFor(core_, request, kBytes).page_count, 0U);
}

}  // namespace
}  // namespace verbena::odp
