#include "transport/cm/sidr_exchanges.h"

#include <gtest/gtest.h>

#include "tests/support/cm_pair.h"

namespace verbena::transport {
namespace {

constexpr SidrExchange::Retry kRetry{.answer = Milliseconds(10), .count = 2};

class SidrExchangesTest : public testing::Test, public CmPair {
 protected:
  wire::SidrRequestId Ask(wire::ServiceId service = kService) {
    const wire::CmSidrReq req{.service_id = service, .private_data = Data<216>("who is there")};
    return *Do(a, [&](CmManager& m, CmStep& s) { return m.sidr().Ask(req, b.address, kRetry, s); });
  }
};

TEST_F(SidrExchangesTest, ARequestGetsAQpNumber) {
  const auto id = Ask();
  Deliver(/*again=*/true);
  const CmRaisedEvent request = b.TakeEvent(CmEventType::kSidrRequest);
  EXPECT_EQ(std::get<wire::CmSidrReq>(*request.message).private_data, Data<216>("who is there"));
  Deliver();
  EXPECT_TRUE(b.events.empty()) << "a duplicate";
  EXPECT_EQ(b.manager->counters().duplicates, 1u);
  const wire::CmSidrRep rep{.qp = QpNumber(0x22), .q_key = QKey(0x1234)};
  ASSERT_TRUE(
      Do(b, [&](CmManager& m, CmStep& s) { return m.sidr().Answer(request.sidr, rep, s); }));
  Deliver(/*again=*/true);
  const CmRaisedEvent response = a.TakeEvent(CmEventType::kSidrResponse);
  EXPECT_EQ(response.sidr, id);
  EXPECT_EQ(std::get<wire::CmSidrRep>(*response.message).qp, QpNumber(0x22));
  Deliver();
  EXPECT_TRUE(a.events.empty());
  EXPECT_EQ(a.manager->counters().unknown, 1u);
  ExpectAllEnds();
}

TEST_F(SidrExchangesTest, AServiceWithoutListenerIsRefused) {
  Ask(wire::ServiceId(1));
  Deliver();
  EXPECT_EQ(Sent<wire::CmSidrRep>().status, wire::CmSidrStatus::kInvalidServiceId);
  EXPECT_EQ(b.manager->counters().refused_no_listener, 1u);
  Deliver();
  a.TakeEvent(CmEventType::kSidrResponse);
}

TEST_F(SidrExchangesTest, ResponsesFromAnotherAddressAreIgnored) {
  const auto id = Ask();
  const auto other = IpAddress::FromIpv4(Ipv4Address(0x0A000009));
  Arrive(a, other, {wire::TransactionId(1), wire::CmSidrRep{.request_id = id}});
  EXPECT_TRUE(a.events.empty());
}

TEST_F(SidrExchangesTest, AnUnansweredRequestEnds) {
  Ask();
  while (NextTimer(a)) {
  }
  a.TakeEvent(CmEventType::kSidrUnreachable);
  EXPECT_EQ(wire.size(), 3u);
}

TEST_F(SidrExchangesTest, CallsWithoutAnExchangeAreRefused) {
  const auto answer = [&](CmManager& m, CmStep& s) {
    return m.sidr().Answer(wire::SidrRequestId(1), {}, s);
  };
  EXPECT_EQ(Do(b, answer).error(), CmError::kUnknownId);
  const auto id = Ask();
  EXPECT_EQ(Do(a, [&](CmManager& m, CmStep& s) { return m.sidr().Answer(id, {}, s); }).error(),
            CmError::kWrongState);
  EXPECT_TRUE(Do(a, [&](CmManager& m, CmStep& s) { return m.sidr().Destroy(id, s); }));
  EXPECT_EQ(a.manager->sidr().size(), 0u);
}

TEST(SidrExchangesLimitsTest, ExchangesAreBounded) {
  CmOptions few = CmPair::DefaultOptions(2);
  few.sidr_max = 1;
  CmPair pair(CmPair::DefaultOptions(1), few);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(pair.Do(pair.a, [&](CmManager& m, CmStep& s) {
      return m.sidr().Ask({.service_id = CmPair::kService}, pair.b.address, kRetry, s);
    }));
    pair.Deliver();
  }
  EXPECT_EQ(pair.Sent<wire::CmSidrRep>().status, wire::CmSidrStatus::kRejected);
  EXPECT_EQ(pair.b.manager->counters().refused_full, 1u);
}

}  // namespace
}  // namespace verbena::transport
