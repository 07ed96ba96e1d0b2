#include "queue/tag_matcher.h"

#include <array>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace verbena::queue {
namespace {

constexpr uint64_t kWhole = ~uint64_t{0};

class TagMatcherTest : public ::testing::Test {
 protected:
  ~TagMatcherTest() override { EXPECT_TRUE(tags_.IsConsistent()); }

  TagHandle Add(uint64_t id, uint64_t tag, uint64_t mask = kWhole) {
    const auto handle = tags_.Add({.id = WrId(id), .tag = tag, .mask = mask});
    EXPECT_TRUE(handle.has_value());
    return handle.value_or(TagHandle());
  }
  // The id of the receive that a message with this tag takes; gives it back at once.
  std::optional<uint64_t> Take(uint64_t tag) {
    const auto index = tags_.Match(tag);
    if (!index) return std::nullopt;
    const uint64_t id = tags_.IdOf(*index).value();
    tags_.Give(*index);
    return id;
  }

  TagMatcher tags_{4, 2};
};

TEST_F(TagMatcherTest, TheOldestThatMatchesIsTaken) {
  Add(1, 0x10);
  Add(2, 0x20);
  Add(3, 0x20);
  EXPECT_EQ(Take(0x20), 2u);
  EXPECT_EQ(Take(0x20), 3u);
  EXPECT_EQ(Take(0x20), std::nullopt);
  EXPECT_EQ(Take(0x10), 1u);
}

TEST_F(TagMatcherTest, TheMaskAppliesToTheTagOfTheMessageOnly) {
  Add(1, 0x12, 0xFF);
  EXPECT_EQ(Take(0xAB13), std::nullopt);
  EXPECT_EQ(Take(0xAB12), 1u);
  Add(2, 0x112, 0xFF);  // no masked tag of a message has such bits
  EXPECT_EQ(Take(0x112), std::nullopt);
  Add(3, 0, 0);
  EXPECT_EQ(Take(kWhole), 3u);
}

TEST_F(TagMatcherTest, KeepsTheBuffers) {
  const std::array sges = {Sge{.address = 0x1000, .length = 10, .key = Key(7)},
                           Sge{.address = 0x2000, .length = 32, .key = Key(8)}};
  ASSERT_TRUE(tags_.Add({.id = WrId(5), .tag = 1, .mask = kWhole, .sges = sges}).has_value());
  const auto index = tags_.Match(1);
  ASSERT_TRUE(index.has_value());
  EXPECT_EQ(tags_.LengthOf(*index), 42u);
  const std::span<const Sge> kept = tags_.SgesOf(*index);
  EXPECT_TRUE(std::vector(kept.begin(), kept.end()) == std::vector(sges.begin(), sges.end()));
  tags_.Give(*index);
}

TEST_F(TagMatcherTest, HasLimits) {
  const std::array<Sge, 3> sges = {};
  EXPECT_EQ(tags_.Add({.sges = sges}).error(), TagMatcher::AddError::kTooManySges);
  for (uint64_t id = 0; id < 4; ++id) Add(id, id);
  EXPECT_EQ(tags_.Add({}).error(), TagMatcher::AddError::kFull);
  const auto taken = tags_.Match(2);
  EXPECT_EQ(tags_.Add({}).error(), TagMatcher::AddError::kFull);  // its place is still in use
  tags_.Give(*taken);
  EXPECT_TRUE(tags_.Add({}).has_value());
}

TEST_F(TagMatcherTest, ATakenReceiveCannotBeRemoved) {
  const TagHandle first = Add(1, 1);
  const TagHandle second = Add(2, 2);
  EXPECT_EQ(Take(1), 1u);
  EXPECT_FALSE(tags_.Remove(first));
  EXPECT_TRUE(tags_.Remove(second));
  EXPECT_FALSE(tags_.Remove(second));
  EXPECT_EQ(Take(2), std::nullopt);
}

TEST_F(TagMatcherTest, AHandleIsNotReusedForTheNextReceive) {
  const TagHandle first = Add(1, 1);
  EXPECT_TRUE(tags_.Remove(first));
  EXPECT_NE(Add(2, 1), first);
  EXPECT_FALSE(tags_.Remove(first));
  EXPECT_EQ(Take(1), 2u);
}

TEST_F(TagMatcherTest, ReceivesAddedOutOfStepAreHeld) {
  Add(1, 1);
  tags_.CountUnexpected();
  EXPECT_FALSE(tags_.is_in_step());
  Add(2, 2);
  EXPECT_EQ(Take(2), std::nullopt);
  EXPECT_EQ(Take(1), 1u);  // added before
  tags_.CountUnexpected();
  tags_.Synchronize(1);
  EXPECT_EQ(Take(2), std::nullopt);
  tags_.Synchronize(2);
  EXPECT_TRUE(tags_.is_in_step());
  EXPECT_EQ(Take(2), 2u);
}

TEST_F(TagMatcherTest, HeldReceivesCanBeRemoved) {
  Add(1, 1);
  tags_.CountUnexpected();
  const TagHandle held = Add(2, 1);
  EXPECT_TRUE(tags_.Remove(held));
  EXPECT_EQ(Take(1), 1u);
  EXPECT_EQ(Take(1), std::nullopt);
}

TEST_F(TagMatcherTest, AFailedMessageIsNotUnexpected) {
  tags_.CountUnexpected();
  Add(1, 1);
  tags_.DiscountUnexpected();
  EXPECT_TRUE(tags_.is_in_step());
  EXPECT_EQ(Take(1), 1u);
}

}  // namespace
}  // namespace verbena::queue
