#include "odp/resident_pages.h"

#include <sys/mman.h>

#include <cstring>

#include <gtest/gtest.h>

#include "odp/pager.h"

namespace verbena::odp {
namespace {

using memory::AccessKind;

constexpr uint64_t kPages = 600;

class ResidentPagesTest : public ::testing::Test {
 protected:
  ResidentPagesTest() {
    start_ = static_cast<std::byte*>(mmap(nullptr, kPages * kPageBytes, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    // Otherwise touching one page may page in its neighbours.
    madvise(start_, kPages * kPageBytes, MADV_NOHUGEPAGE);
    const memory::RegionSpec spec{.pd = pd_,
                                  .start = KeyAddress(Address(0)),
                                  .length = kPages * kPageBytes,
                                  .rights = Access::kLocalRead | Access::kLocalWrite};
    key_ = core_.regions.Register(spec, memory::LinearBacking{memory::PhysicalAddress(Address(0))})
               ->local;
  }
  ~ResidentPagesTest() override { munmap(start_, kPages * kPageBytes); }

  uint64_t Address(uint64_t page) const {
    return reinterpret_cast<uint64_t>(start_) + page * kPageBytes;
  }
  void Touch(uint64_t first, uint64_t count) {
    std::memset(start_ + first * kPageBytes, 1, count * kPageBytes);
  }
  memory::Translation Translate(uint64_t page, uint64_t count) const {
    return core_.translator.Translate(key_, KeyAddress(Address(page)), count * kPageBytes,
                                      AccessKind::kLocalWrite, {pd_, QpNumber(1)});
  }
  // Maps pages that are absent from the tables.
  bool Map(uint64_t page, uint64_t count) {
    const memory::Translation translation = Translate(page, count);
    return resident_.Map(*AsFault(translation), Time());
  }

  memory::MemoryCore core_;
  memory::PdId pd_ = *core_.domains.Allocate(
      *core_.consumers.Open({.table = memory::ConsumerSpec::PrivateTable{.identity = true}}));
  std::byte* start_ = nullptr;
  Key key_;
  Pager pager_{{.threads = 1}, [] {}};
  ResidentPages resident_{core_, nullptr, pager_};
};

TEST_F(ResidentPagesTest, PagesThatTheProgramHasUsedAreResident) {
  Touch(3, 2);
  EXPECT_TRUE(Map(3, 2));
  EXPECT_NE(AsReady(Translate(3, 2)), nullptr);
}

TEST_F(ResidentPagesTest, OtherPagesAreAbsent) {
  Touch(3, 1);
  EXPECT_FALSE(Map(2, 2));
  EXPECT_NE(AsFault(Translate(2, 1)), nullptr);
}

TEST_F(ResidentPagesTest, EntersTheResidentFirstPages) {
  Touch(3, 2);
  EXPECT_TRUE(Map(3, 4));
  EXPECT_NE(AsReady(Translate(3, 2)), nullptr);
  EXPECT_NE(AsFault(Translate(5, 1)), nullptr);
}

TEST_F(ResidentPagesTest, ProbesABoundedNumberOfPages) {
  Touch(0, kPages);
  EXPECT_TRUE(Map(0, kPages));
  EXPECT_NE(AsReady(Translate(511, 1)), nullptr);
  EXPECT_NE(AsFault(Translate(512, 1)), nullptr);
}

TEST_F(ResidentPagesTest, UnmappedMemoryIsAbsent) {
  Touch(3, 1);
  munmap(start_ + 3 * kPageBytes, kPageBytes);
  EXPECT_FALSE(Map(3, 1));
}

}  // namespace
}  // namespace verbena::odp
