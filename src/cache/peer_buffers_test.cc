#include "verbena/peer_buffers.h"

#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

namespace verbena {
namespace {

using Kind = BufferNotice::Kind;

constexpr Access kPeerReads = Access::kLocal | Access::kRemoteRead;
constexpr Access kPeerWrites = Access::kLocal | Access::kRemoteWrite;

BufferNotice Registered(uint32_t number, uint64_t address, uint64_t length, uint32_t key,
                        Access access = kPeerReads) {
  return {Kind::kRegistered, number, {address, length}, access, Key(key)};
}
BufferNotice Ended(uint32_t number) { return {.kind = Kind::kEnded, .number = number}; }

TEST(BufferNoticeTest, ComesBackFromItsBytes) {
  const BufferNotice notice = Registered(7, 0x1234'5678'9abc, 1 << 20, 0xdead);
  EXPECT_EQ(ParseBufferNotice(ToBytes(notice)), notice);
  EXPECT_EQ(ParseBufferNotice(ToBytes(Ended(9))), Ended(9));
}

TEST(BufferNoticeTest, WhatIsNoneIsRefused) {
  const auto bytes = ToBytes(Registered(7, 1, 1, 1));
  EXPECT_FALSE(ParseBufferNotice(std::span(bytes).first(27)));
  for (const auto& [at, value] : {std::pair<size_t, int>{0, 'X'}, {1, 'X'}, {2, 2}, {3, 64}}) {
    auto wrong = bytes;
    wrong[at] = static_cast<std::byte>(value);
    EXPECT_FALSE(ParseBufferNotice(wrong)) << at;
  }
}

class PeerBuffersTest : public testing::Test {
 protected:
  [[nodiscard]] bool Apply(const BufferNotice& notice) {
    return buffers_.Apply(notice).has_value();
  }
  [[nodiscard]] uint32_t KeyFor(uint64_t address, uint64_t length,
                                Access access = Access::kRemoteRead) const {
    const auto found = buffers_.Find(address, length, access);
    EXPECT_TRUE(!found || found->address == address);
    return found ? found->key.value() : 0;
  }

  PeerBuffers buffers_ = PeerBuffers::Create(4).value();
};

TEST_F(PeerBuffersTest, ARequestWithinABufferFindsItsKey) {
  ASSERT_TRUE(Apply(Registered(1, 0x1000, 0x1000, 11)));
  ASSERT_TRUE(Apply(Registered(2, 0x4000, 0x2000, 12, kPeerWrites)));
  EXPECT_EQ(KeyFor(0x1000, 0x1000), 11U);
  EXPECT_EQ(KeyFor(0x1fff, 1), 11U);
  EXPECT_EQ(KeyFor(0x5000, 0x1000, Access::kRemoteWrite), 12U);
  EXPECT_EQ(KeyFor(0xfff, 2), 0U);
  EXPECT_EQ(KeyFor(0x1fff, 2), 0U);
  EXPECT_EQ(KeyFor(0x4000, 1), 0U) << "for reads it is not registered";
  EXPECT_EQ(KeyFor(0x1000, 0), 0U);
  EXPECT_EQ(KeyFor(0x1000, ~uint64_t{0}), 0U);
}

TEST_F(PeerBuffersTest, TheSameBytesCanBeThereWithDifferentRights) {
  ASSERT_TRUE(Apply(Registered(1, 0x1000, 0x1000, 11, kPeerReads)));
  ASSERT_TRUE(Apply(Registered(2, 0x1000, 0x1000, 12, kPeerWrites)));
  EXPECT_EQ(KeyFor(0x1000, 1, Access::kRemoteRead), 11U);
  EXPECT_EQ(KeyFor(0x1000, 1, Access::kRemoteWrite), 12U);
  ASSERT_TRUE(Apply(Ended(1)));
  EXPECT_EQ(KeyFor(0x1000, 1, Access::kRemoteRead), 0U);
  EXPECT_EQ(KeyFor(0x1000, 1, Access::kRemoteWrite), 12U);
  EXPECT_EQ(buffers_.List()->size(), 1U);
}

TEST_F(PeerBuffersTest, WhatNoHonestClientSendsIsRefused) {
  ASSERT_TRUE(Apply(Registered(1, 0x1000, 0x1000, 11)));
  EXPECT_FALSE(Apply(Registered(1, 0x9000, 0x1000, 12))) << "a number twice";
  EXPECT_FALSE(Apply(Ended(2)));
  EXPECT_FALSE(Apply(Registered(3, 0x1000, 0, 13)));
  EXPECT_FALSE(Apply(Registered(3, 0x1000, ~uint64_t{0}, 13)));
  EXPECT_FALSE(Apply(Registered(3, 0x1000, 1, 13, Access::kLocal)));
  EXPECT_EQ(buffers_.size(), 1U);
}

TEST_F(PeerBuffersTest, AClientCannotFillTheServer) {
  for (uint32_t i = 0; i < 4; ++i) ASSERT_TRUE(Apply(Registered(i, 0x1000 * i, 1, i)));
  const auto refused = buffers_.Apply(Registered(9, 1, 1, 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kLimit);
  ASSERT_TRUE(Apply(Ended(0)));
  EXPECT_TRUE(Apply(Registered(9, 1, 1, 1)));
}

TEST_F(PeerBuffersTest, AListThatWasMovedFromIsEmpty) {
  ASSERT_TRUE(Apply(Registered(1, 0x1000, 0x1000, 11)));
  const PeerBuffers moved = std::move(buffers_);
  EXPECT_EQ(moved.size(), 1U);
  EXPECT_EQ(buffers_.size(), 0U);  // NOLINT(bugprone-use-after-move): it may be asked
  EXPECT_FALSE(Apply(Ended(1)));
}

}  // namespace
}  // namespace verbena
