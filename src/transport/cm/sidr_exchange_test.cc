#include "transport/cm/sidr_exchange.h"

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

const auto kPeer = IpAddress::FromIpv4(Ipv4Address(0x0A000002));
constexpr SidrExchange::Retry kRetry{.answer = Milliseconds(10), .count = 2};

class SidrExchangeTest : public testing::Test {
 protected:
  SidrExchange exchange_{kPeer};
  CmOutbox outbox_;
  CmStep step_{Time(), outbox_};
};

TEST_F(SidrExchangeTest, RetransmitsUpToItsRetriesAndGivesUp) {
  exchange_.Ask(wire::SidrRequestId(7), {.service_id = wire::ServiceId(3)}, kRetry, step_);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(exchange_.deadline(), step_.now + Milliseconds(10));
    step_.now = exchange_.deadline();
    exchange_.OnTime(step_);
  }
  EXPECT_EQ(outbox_.datagrams.size(), 3u);
  EXPECT_EQ(outbox_.datagrams[0].mad, outbox_.datagrams[2].mad);
  EXPECT_TRUE(outbox_.events.empty());
  step_.now = exchange_.deadline();
  exchange_.OnTime(step_);
  EXPECT_EQ(outbox_.datagrams.size(), 3u);
  ASSERT_EQ(outbox_.events.size(), 1u);
  EXPECT_EQ(outbox_.events[0].type, CmEventType::kSidrUnreachable);
  EXPECT_EQ(exchange_.state(), SidrExchange::State::kClosed);
}

TEST_F(SidrExchangeTest, AResponseIsKeptForDuplicates) {
  const wire::CmSidrReq req{.request_id = wire::SidrRequestId(9), .service_id = wire::ServiceId(3)};
  exchange_.OnRequest(wire::SidrRequestId(7), req, wire::TransactionId(5), Seconds(1), step_);
  ASSERT_EQ(outbox_.events.size(), 1u);
  EXPECT_EQ(outbox_.events[0].sidr, wire::SidrRequestId(7));
  exchange_.OnDuplicateReq(step_);
  EXPECT_TRUE(outbox_.datagrams.empty());
  EXPECT_TRUE(exchange_.Answer({.qp = QpNumber(0x22)}, step_));
  EXPECT_FALSE(exchange_.Answer({}, step_));
  exchange_.OnDuplicateReq(step_);
  ASSERT_EQ(outbox_.datagrams.size(), 2u);
  EXPECT_EQ(outbox_.datagrams[0].mad, outbox_.datagrams[1].mad);
  const auto rep = std::get<wire::CmSidrRep>(outbox_.datagrams[0].mad.message);
  EXPECT_EQ(rep.request_id, wire::SidrRequestId(9));
  EXPECT_EQ(rep.service_id, wire::ServiceId(3));
  EXPECT_EQ(outbox_.datagrams[0].mad.transaction, wire::TransactionId(5));
  EXPECT_EQ(exchange_.deadline(), Time() + Seconds(1));
  step_.now = exchange_.deadline();
  exchange_.OnTime(step_);
  EXPECT_EQ(outbox_.events.size(), 1u);
}

TEST_F(SidrExchangeTest, DestroyRejectsTheRequest) {
  exchange_.OnRequest(wire::SidrRequestId(7), {}, {}, Seconds(1), step_);
  exchange_.Destroy(step_);
  ASSERT_EQ(outbox_.datagrams.size(), 1u);
  EXPECT_EQ(std::get<wire::CmSidrRep>(outbox_.datagrams[0].mad.message).status,
            wire::CmSidrStatus::kRejected);
}

TEST_F(SidrExchangeTest, AnUnansweredRequestEnds) {
  exchange_.OnRequest(wire::SidrRequestId(7), {}, {}, Seconds(1), step_);
  step_.now = exchange_.deadline();
  exchange_.OnTime(step_);
  EXPECT_EQ(outbox_.events.back().type, CmEventType::kSidrUnreachable);
  EXPECT_EQ(exchange_.state(), SidrExchange::State::kClosed);
}

}  // namespace
}  // namespace verbena::transport
