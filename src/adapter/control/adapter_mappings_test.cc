#include <sys/mman.h>

#include <cerrno>

#include <gtest/gtest.h>

#include "tests/support/adapter_world.h"

namespace verbena::adapter {
namespace {

constexpr uint64_t kPage = 4'096;
constexpr uint64_t kBytes = 16 * kPage;
constexpr Access kRead = Access::kLocalRead | Access::kRemoteRead;

class AdapterMappingsTest : public testing::Test {
 protected:
  memory::RegionSpec Spec(Access rights) {
    return {.pd = node_.pd(),
            .start = KeyAddress(node_.AddressOf(0)),
            .length = kBytes,
            .rights = rights};
  }
  memory::LinearBacking Bytes() { return {.base = memory::PhysicalAddress(node_.AddressOf(0))}; }
  ErrorOr<memory::RegionKeys> Register(const memory::RegionSpec& spec) {
    return node_.adapter().RegisterRegion(spec, Bytes());
  }
  void Unmap() { munmap(node_.memory().data() + 3 * kPage, kPage); }
  void Protect(int protection) {
    EXPECT_EQ(mprotect(node_.memory().data() + 3 * kPage, kPage, protection), 0);
  }
  static void ExpectFault(const ErrorOr<memory::RegionKeys>& made, const char* words) {
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(made.error().code, ErrorCode::kSystem);
    EXPECT_EQ(made.error().os_error, EFAULT);
    EXPECT_NE(made.error().text.find(words), std::string::npos) << made.error().text;
  }

  TestNode node_{"127.0.0.1", kBytes};
};

TEST_F(AdapterMappingsTest, MemoryThatIsNotMappedIsRefused) {
  Unmap();
  ExpectFault(Register(Spec(Access::kLocalRead)), "is not mapped");
  memory::RegionSpec before = Spec(kRead);
  before.length = 3 * kPage;
  EXPECT_TRUE(Register(before).has_value()) << "it ends before the hole";
}

TEST_F(AdapterMappingsTest, ReadOnlyMemoryIsRefusedForWriteAccess) {
  Protect(PROT_READ);
  ExpectFault(Register(Spec(kRead | Access::kLocalWrite)), "is not writable");
  ExpectFault(Register(Spec(kRead | Access::kWindowBind)), "is not writable");
  EXPECT_TRUE(Register(Spec(kRead)).has_value());
}

TEST_F(AdapterMappingsTest, MemoryThatIsNotReadableIsRefused) {
  Protect(PROT_NONE);
  ExpectFault(Register(Spec(kRead)), "is not readable");
}

TEST_F(AdapterMappingsTest, OnDemandRegistrationChecksNoMappings) {
  Unmap();
  memory::RegionSpec spec = Spec(Access::kAll);
  spec.on_demand = true;
  EXPECT_TRUE(Register(spec).has_value());
  spec.start = KeyAddress(0);
  spec.length = UINT64_MAX;
  spec.on_demand = false;
  const auto everything = node_.adapter().RegisterRegion(spec, memory::AddressSpaceBacking{});
  EXPECT_TRUE(everything.has_value()) << "all that there is, and will be";
}

TEST_F(AdapterMappingsTest, ARegionOfZeroBytesNeedsNoMapping) {
  Unmap();
  memory::RegionSpec spec = Spec(Access::kAll);
  spec.length = 0;
  EXPECT_TRUE(Register(spec).has_value());
}

TEST_F(AdapterMappingsTest, ARegionIsNotMovedToUnmappedMemory) {
  memory::RegionSpec half = Spec(Access::kAll);
  half.length = 2 * kPage;
  const auto keys = Register(half);
  ASSERT_TRUE(keys.has_value());
  Unmap();
  ExpectFault(node_.adapter().ReregisterRegion(keys->local, Spec(Access::kAll), Bytes()),
              "is not mapped");
  EXPECT_TRUE(node_.adapter().DeregisterRegion(keys->local).has_value()) << "it is as it was";
}

TEST_F(AdapterMappingsTest, WriteAccessIsNotAddedToReadOnlyMemory) {
  Protect(PROT_READ);
  const auto keys = Register(Spec(kRead));
  ASSERT_TRUE(keys.has_value());
  ExpectFault(node_.adapter().ReregisterRegion(keys->local, Spec(Access::kAll), std::nullopt),
              "is not writable");
  ExpectFault(
      node_.adapter().RegisterRegion(Spec(Access::kAll), memory::SharedBacking{keys->local}),
      "is not writable");
  EXPECT_TRUE(
      node_.adapter().RegisterRegion(Spec(kRead), memory::SharedBacking{keys->local}).has_value());
}

// As with pinned memory: mappings are checked at registration only.
TEST_F(AdapterMappingsTest, ARegionThatGetsNoMoreRightsIsNotCheckedAgain) {
  const auto keys = Register(Spec(Access::kAll));
  ASSERT_TRUE(keys.has_value());
  Unmap();
  EXPECT_TRUE(node_.adapter().ReregisterRegion(keys->local, Spec(kRead), std::nullopt).has_value());
}

}  // namespace
}  // namespace verbena::adapter
