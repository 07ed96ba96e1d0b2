#include "transport/iwarp/ddp_session.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "transport/iwarp/mpa_handshake.h"
#include "wire/iwarp/mpa_fpdu.h"

namespace verbena::transport {
namespace {

using Bytes = std::vector<std::byte>;
using Kind = DdpSession::Inbound::Kind;
using wire::DdpFunction;
using wire::DdpProtocol;
using wire::DdpSessionControl;
using wire::DdpSsn;

constexpr auto kSegment = static_cast<uint32_t>(DdpProtocol::kSegment);
constexpr auto kControl = static_cast<uint32_t>(DdpProtocol::kSessionControl);

struct Message {
  uint32_t protocol;
  Bytes bytes;
};

Message TakeMade(DdpSession& from, std::span<const std::byte> bytes) {
  const auto made = from.Make(bytes);
  EXPECT_TRUE(made.has_value());
  EXPECT_EQ(made->taken, bytes.size());
  from.Sent();
  return {static_cast<uint32_t>(made->protocol), Bytes(made->message.begin(), made->message.end())};
}

Bytes RecordOf(size_t size, uint8_t value) {
  Bytes record(wire::FpduHeader::kSize + size, std::byte{value});
  wire::FpduHeader{.ulpdu_length = static_cast<uint16_t>(size)}.Serialize(record);
  return record;
}

Bytes Request() {
  const auto frame = MakeMpaRequest({}, {});
  return {frame.bytes().begin(), frame.bytes().end()};
}

class DdpSessionTest : public testing::Test {
 protected:
  // The initiator's request has arrived.
  void SetUp() override {
    ASSERT_TRUE(Arrive(TakeMade(initiator_, Request())));
    ASSERT_NE(responder_.front(), nullptr);
    ASSERT_EQ(responder_.front()->kind, Kind::kFrame);
    responder_.Pop();
  }
  bool Arrive(const Message& message) {
    return responder_.OnMessage(message.protocol, message.bytes);
  }
  std::vector<Bytes> TakeAll() {
    std::vector<Bytes> records;
    for (; responder_.front() != nullptr; responder_.Pop()) {
      records.push_back(responder_.front()->bytes);
    }
    return records;
  }

  DdpSession initiator_{DdpRole::kInitiator};
  DdpSession responder_{DdpRole::kResponder};
};

TEST_F(DdpSessionTest, MessagesComeInOrderHoweverTheyArrive) {
  Random random(1);
  uint8_t value = 0;
  // More than 65,536, so that the numbers wrap.
  for (int round = 0; round < 7000; ++round) {
    std::vector<Bytes> sent;
    std::vector<Message> messages;
    for (int i = 0; i < 10; ++i) {
      sent.push_back(RecordOf(1 + random.Below(20), value++));
      messages.push_back(TakeMade(initiator_, sent.back()));
    }
    while (!messages.empty()) {
      const auto next = messages.begin() + static_cast<ptrdiff_t>(random.Below(messages.size()));
      ASSERT_TRUE(Arrive(*next));
      messages.erase(next);
    }
    ASSERT_EQ(TakeAll(), sent);
    ASSERT_EQ(responder_.held_bytes(), 0);
  }
}

TEST_F(DdpSessionTest, WhatIsAheadOfAGapIsShownOnce) {
  std::vector<Message> messages;
  for (uint8_t i = 0; i < 4; ++i) messages.push_back(TakeMade(initiator_, RecordOf(8, i)));
  std::vector<uint64_t> shown;
  const auto show = [&] {
    shown.clear();
    responder_.ShowEarly([&](wire::StreamOffset at, std::span<std::byte> record) {
      EXPECT_TRUE(std::ranges::equal(record, RecordOf(8, static_cast<uint8_t>(at.value()))));
      shown.push_back(at.value());
    });
    return shown;
  };
  ASSERT_TRUE(Arrive(messages[3]));
  EXPECT_EQ(show(), (std::vector<uint64_t>{3}));
  ASSERT_TRUE(Arrive(messages[1]));
  EXPECT_EQ(show(), (std::vector<uint64_t>{1}));
  ASSERT_TRUE(Arrive(messages[0]));
  EXPECT_TRUE(show().empty()) << "what is in order is not early";
  EXPECT_EQ(TakeAll().size(), 2);
  ASSERT_TRUE(Arrive(messages[2]));
  EXPECT_EQ(TakeAll().size(), 2);
}

TEST_F(DdpSessionTest, TheEndComesBehindAllOthers) {
  const Message record = TakeMade(initiator_, RecordOf(8, 1));
  const auto end = initiator_.MakeEnd();
  ASSERT_TRUE(end.has_value());
  EXPECT_FALSE(initiator_.MakeEnd().has_value()) << "it ends once";
  ASSERT_TRUE(Arrive(
      {static_cast<uint32_t>(end->protocol), Bytes(end->message.begin(), end->message.end())}));
  EXPECT_EQ(responder_.front(), nullptr);
  ASSERT_TRUE(Arrive(record));
  EXPECT_EQ(responder_.front()->kind, Kind::kRecord);
  responder_.Pop();
  EXPECT_EQ(responder_.front()->kind, Kind::kEnd);
  responder_.Pop();
  EXPECT_FALSE(initiator_.Make(RecordOf(8, 1)).has_value());
  Bytes late = RecordOf(8, 1);
  wire::DdpSequence{.ssn = DdpSsn(3)}.Serialize(late);
  EXPECT_FALSE(Arrive({kSegment, late})) << "nothing comes behind the end";
}

TEST_F(DdpSessionTest, WhatArrivedAheadOfTheEndAndStandsBehindItIsDropped) {
  Bytes late = RecordOf(8, 1);
  wire::DdpSequence{.ssn = DdpSsn(2)}.Serialize(late);
  ASSERT_TRUE(Arrive({kSegment, late}));
  const auto end = initiator_.MakeEnd();
  ASSERT_TRUE(Arrive({kControl, Bytes(end->message.begin(), end->message.end())}));
  EXPECT_EQ(responder_.front()->kind, Kind::kEnd);
  responder_.Pop();
  EXPECT_EQ(responder_.front(), nullptr);
}

TEST_F(DdpSessionTest, ARejectedSessionHasNoEnd) {
  MpaFrameReader request(wire::MpaFrameKind::kRequest);
  static_cast<void>(request.Take(Request()));
  const auto reject = RejectMpa(request, {});
  TakeMade(responder_, reject.bytes());
  EXPECT_FALSE(responder_.MakeEnd().has_value());
}

TEST_F(DdpSessionTest, RefusesWhatNoPeerSends) {
  const Message record = TakeMade(initiator_, RecordOf(8, 1));
  EXPECT_FALSE(Arrive({99, record.bytes})) << "an unknown protocol";
  EXPECT_FALSE(Arrive({kSegment, {}})) << "no number";
  EXPECT_FALSE(Arrive({kSegment, Bytes(2)})) << "no segment";
  Bytes control(DdpSessionControl::kSize);
  DdpSessionControl{.ssn = DdpSsn(1), .function = DdpFunction::kInitiate}.Serialize(control);
  EXPECT_FALSE(Arrive({kControl, control})) << "a second set-up";
  DdpSessionControl{.ssn = DdpSsn(1), .function = DdpFunction::kTerminate}.Serialize(control);
  EXPECT_FALSE(Arrive({99, control})) << "an end of an unknown protocol";
  ASSERT_TRUE(Arrive(record));
  EXPECT_FALSE(Arrive(record)) << "a number twice";
  TakeAll();
  EXPECT_FALSE(Arrive(record)) << "a number that has passed";
}

TEST(DdpSessionSetUpTest, OnlyTheOtherRoleBeginsASession) {
  for (const DdpRole role : {DdpRole::kInitiator, DdpRole::kResponder}) {
    for (uint16_t code = 1; code <= 7; ++code) {
      Bytes control(DdpSessionControl::kSize + 4);
      const auto function = static_cast<DdpFunction>(code);
      DdpSessionControl{.function = function}.Serialize(control);
      const bool initiates = code == 1 || code == 5;
      const bool is_right = code != 4 && initiates == (role == DdpRole::kResponder);
      EXPECT_EQ(DdpSession(role).OnMessage(kControl, control), is_right) << code;
    }
  }
}

TEST(DdpSessionSetUpTest, SegmentsMayArriveAheadOfAReplyButNotOfARequest) {
  Bytes segment = RecordOf(8, 1);
  wire::DdpSequence{.ssn = DdpSsn(1)}.Serialize(segment);
  EXPECT_TRUE(DdpSession(DdpRole::kInitiator).OnMessage(kSegment, segment));
  EXPECT_FALSE(DdpSession(DdpRole::kResponder).OnMessage(kSegment, segment));
}

// Numbers that lie make it hold no more than its bounds.
TEST_F(DdpSessionTest, HoldsNoMoreThanItsBounds) {
  const auto flood = [&](size_t size) {
    DdpSession session(DdpRole::kInitiator);
    size_t count = 0;
    for (uint32_t i = 0; i < 20'000; ++i) {
      Bytes segment(2 + size);
      wire::DdpSequence{.ssn = DdpSsn(2 + i)}.Serialize(segment);
      if (!session.OnMessage(kSegment, segment)) break;
      ++count;
    }
    EXPECT_LE(session.held_bytes(), DdpSession::kHeldBytesMax);
    return count;
  };
  EXPECT_EQ(flood(1), DdpSession::kHeldMax);
  EXPECT_EQ(flood(60'000), DdpSession::kHeldBytesMax / 60'002);
}

}  // namespace
}  // namespace verbena::transport
