#include "host/protocol.h"

#include <gtest/gtest.h>

namespace verbena::host {
namespace {

SharedBufferEntry AnEntry() {
  return {.number = BufferNumber(1),
          .buffer = {.name = "frames",
                     .offset = 2,
                     .length = 3,
                     .remote = {4, Key(5)},
                     .access = Access::kRemoteRead,
                     .contact = "here",
                     .audience = BufferAudience::kAllUsers},
          .owner = {6, 7},
          .users = 8};
}

// One of each, with no field of its default value.
std::vector<BrokerMessage> OneOfEach() {
  return {
      HelloMessage{.version = 7, .name = "a", .limits = {1, 2, 3}, .held = 4},
      MemoryMessage{.number = 1, .bytes = 2},
      MemoryEndedMessage{.number = 1},
      RegionMessage{.region = RegionNumber(1), .bytes = 2, .out = 3, .word = 4},
      RegionEventMessage{RegionNumber(1), RegionEventMessage::Kind::kEnded},
      UseMessage{.use = {1, 2, true}, .swapped = 3, .faults = {4, 5}},
      ObeyedMessage{.sequence = 1},
      GoodbyeMessage{},
      WelcomeMessage{.version = 2, .guest = GuestId(3)},
      RefusedMessage{.why = "because"},
      GrantMessage{.bytes = uint64_t{1} << 40, .sequence = 2},
      RegionRequestMessage{RegionNumber(1), RegionRequestMessage::Kind::kResume, {2, 3}},
      PunchedMessage{.bytes = 1},
      StatusRequestMessage{.version = 2},
      StatusRowMessage{"a", 1, {2, 3, 4}, 5, 6, 7, 8, 9, 10, {11, 12}, 13, 14, 15, 16, true, true},
      StatusEndMessage{.budget = 1, .committed = 2},
      OperateMessage{.version = 2,
                     .kind = OperateMessage::Kind::kResume,
                     .guest = "b",
                     .all_regions = false,
                     .region = RegionNumber(9),
                     .part = {10, 11},
                     .hold = true},
      OperatedMessage{.done = 1, .error = "none"},
      BufferHelloMessage{.version = 2},
      BufferPublishMessage{.request = 1, .buffer = AnEntry().buffer},
      BufferWithdrawMessage{BufferNumber(1)},
      BufferFindMessage{1, "frames", 2, 3, Access::kRemote},
      BufferReleaseMessage{BufferNumber(1)},
      BufferListMessage{1, BufferNumber(2)},
      BufferWelcomeMessage{.version = 2},
      BufferPublishedMessage{1, BufferNumber(2)},
      BufferFoundMessage{1, AnEntry()},
      BufferFailedMessage{1, ErrorCode::kInUse, 2, "why"},
      BufferEndedMessage{BufferNumber(1)},
      BufferRowMessage{1, AnEntry()},
      BufferRowsMessage{1, false},
      WordsMessage{}};
}

TEST(Protocol, EveryMessageComesBack) {
  const std::vector<BrokerMessage> all = OneOfEach();
  ASSERT_EQ(all.size(), std::variant_size_v<BrokerMessage>);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].index(), i);
    EXPECT_EQ(ParsePacket(ToPacket(all[i])), all[i]) << i;
  }
}

TEST(Protocol, APacketIsExactlyAMessage) {
  for (const BrokerMessage& message : OneOfEach()) {
    std::vector<std::byte> bytes = ToPacket(message);
    for (size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_FALSE(ParsePacket(std::span(bytes).first(length))) << message.index();
    }
    bytes.push_back(std::byte{0});
    EXPECT_FALSE(ParsePacket(bytes)) << message.index();
  }
}

TEST(Protocol, UnknownNumbersAndKindsAreRefused) {
  std::vector<std::byte> bytes = ToPacket(GoodbyeMessage{});
  bytes[4] = std::byte{std::variant_size_v<BrokerMessage>};
  EXPECT_FALSE(ParsePacket(bytes));
  bytes = ToPacket(RegionEventMessage{});
  bytes.back() = std::byte{4};
  EXPECT_FALSE(ParsePacket(bytes));
  bytes = ToPacket(BufferPublishMessage{});
  bytes.back() = std::byte{2};
  EXPECT_FALSE(ParsePacket(bytes)) << "no such audience";
  bytes = ToPacket(BufferFindMessage{});
  bytes.back() = std::byte{64};
  EXPECT_FALSE(ParsePacket(bytes)) << "no such right";
  bytes = ToPacket(OperateMessage{});
  bytes.back() = std::byte{2};
  EXPECT_FALSE(ParsePacket(bytes)) << "neither true nor false";
  bytes = ToPacket(GoodbyeMessage{});
  bytes[0] = std::byte{'X'};
  EXPECT_FALSE(ParsePacket(bytes));
}

TEST(Protocol, LongTextsAreCut) {
  const auto parsed = ParsePacket(ToPacket(RefusedMessage{std::string(1'000, 'x')}));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(std::get<RefusedMessage>(*parsed).why, std::string(kTextMax, 'x'));
}

TEST(Protocol, NamesOfGuests) {
  for (const char* const good : {"a", "web-1", "A.b_c", "0123456789012345678901234567890"}) {
    EXPECT_TRUE(IsGuestName(good)) << good;
  }
  for (const char* const bad :
       {"", "a b", "a\033[2J", "a/b", "\xc3\xa9", "01234567890123456789012345678901"}) {
    EXPECT_FALSE(IsGuestName(bad)) << bad;
  }
}

}  // namespace
}  // namespace verbena::host
