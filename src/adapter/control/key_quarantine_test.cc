#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/adapter_world.h"

namespace verbena::adapter {
namespace {

// A table of a few slots. Each has at most 256 keys until it is quarantined.
constexpr uint32_t kSlots = 8;
constexpr int kKeysMax = kSlots * 256;

AdapterOptions SmallTable(Duration quarantine) {
  AdapterOptions options = TestOptions();
  options.key_slots_max = kSlots;
  options.key_quarantine = std::chrono::nanoseconds(quarantine.nanoseconds());
  return options;
}

// Registers and deregisters until no slot is left; returns how often that succeeded.
int UseUpSlots(TestNode& node) {
  for (int count = 0; count <= kKeysMax; ++count) {
    const auto keys = node.Register(Access::kLocalRead);
    if (!keys) {
      EXPECT_EQ(keys.error().code, ErrorCode::kLimit);
      return count;
    }
    EXPECT_TRUE(node.adapter().DeregisterRegion(keys->local).has_value());
  }
  return kKeysMax + 1;
}

TEST(KeyQuarantine, SlotsAreReusedAfterTheQuarantine) {
  TestNode node("127.0.0.1", 4'096, SmallTable(Milliseconds(500)));
  ASSERT_LE(UseUpSlots(node), kKeysMax);
  EXPECT_FALSE(node.adapter().AllocateWindow(node.pd(), WindowType::k1).has_value());
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  EXPECT_TRUE(node.adapter().AllocateWindow(node.pd(), WindowType::k1).has_value());
  EXPECT_GT(UseUpSlots(node), 0) << "and those of the other slots";
}

TEST(KeyQuarantine, SlotsAreNotReusedDuringTheQuarantine) {
  TestNode node("127.0.0.1", 4'096, SmallTable(Seconds(3'600)));
  ASSERT_LE(UseUpSlots(node), kKeysMax);
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  EXPECT_EQ(UseUpSlots(node), 0);
}

}  // namespace
}  // namespace verbena::adapter
