#include "adapter/cm/cm_values.h"

#include <gtest/gtest.h>

namespace verbena::adapter {
namespace {

const IpAddress kFrom = IpAddress::FromIpv4(10, 0, 0, 1);
const IpAddress kTo = IpAddress::FromIpv4(10, 0, 0, 2);

ConnectionParameters Some(CmService service) {
  ConnectionParameters parameters;
  parameters.qp = QpNumber(0x123456);
  parameters.service = service;
  parameters.psn = Psn(0x654321);
  parameters.responder_resources = 5;
  parameters.initiator_depth = 6;
  parameters.retry_count = 3;
  parameters.rnr_retry_count = 2;
  parameters.flow_control = true;
  parameters.has_srq = true;
  parameters.mtu = PathMtu::k512;
  parameters.ack_timeout = 12;
  parameters.traffic_class = 0x20;
  parameters.hop_limit = 9;
  parameters.vendor_options = {.vendor_id = 0x15b3, .options = 7};
  parameters.private_data.bytes[0] = std::byte{0x5A};
  parameters.private_data.size = 1;
  return parameters;
}

wire::IpCmHeader Addresses() { return {.source_port = 1234, .source = kFrom, .destination = kTo}; }

transport::CmRaisedEvent Raised(CmEventType type, const wire::CmMessage& message) {
  transport::CmRaisedEvent raised;
  raised.type = type;
  raised.peer = {kFrom, kTo, QpNumber(1)};
  raised.message = message;
  return raised;
}

TEST(CmValuesTest, ARequestSurvivesARoundTrip) {
  for (const CmService service : {CmService::kRc, CmService::kUc, CmService::kXrc}) {
    const ConnectionParameters sent = Some(service);
    const auto req = RequestOf(sent, {PortSpace::kTcp, 7471}, Addresses());
    const auto event = EventOf(Raised(CmEventType::kConnectRequest, req));
    ASSERT_TRUE(event);
    EXPECT_EQ(event->local, (CmAddress{.ip = kTo, .port = 7471}));
    EXPECT_EQ(event->remote, (CmAddress{.ip = kFrom, .port = 1234}));
    EXPECT_EQ(event->peer.qp, sent.qp);
    EXPECT_EQ(event->peer.service, service);
    EXPECT_EQ(event->peer.psn, sent.psn);
    EXPECT_EQ(event->peer.responder_resources, 5);
    EXPECT_EQ(event->peer.initiator_depth, 6);
    EXPECT_EQ(event->peer.retry_count, 3);
    EXPECT_EQ(event->peer.rnr_retry_count, 2);
    EXPECT_TRUE(event->peer.flow_control);
    EXPECT_TRUE(event->peer.has_srq);
    EXPECT_EQ(event->peer.mtu, PathMtu::k512);
    EXPECT_EQ(event->peer.ack_timeout, 12);
    EXPECT_EQ(event->peer.traffic_class, 0x20);
    EXPECT_EQ(event->peer.hop_limit, 9);
    EXPECT_EQ(event->peer.vendor_options, sent.vendor_options);
    EXPECT_EQ(event->peer.private_data.bytes[0], std::byte{0x5A});
    EXPECT_EQ(event->peer.private_data.size, kReqPrivateData);
  }
}

TEST(CmValuesTest, AResponseSurvivesARoundTrip) {
  const ConnectionParameters sent = Some(CmService::kRc);
  const auto event = EventOf(Raised(CmEventType::kConnectResponse, ResponseOf(sent)));
  ASSERT_TRUE(event);
  EXPECT_EQ(event->peer.qp, sent.qp);
  EXPECT_EQ(event->peer.psn, sent.psn);
  EXPECT_EQ(event->peer.responder_resources, 5);
  EXPECT_EQ(event->peer.initiator_depth, 6);
  EXPECT_EQ(event->peer.rnr_retry_count, 2);
  EXPECT_TRUE(event->peer.has_srq);
  EXPECT_EQ(event->peer.vendor_options, sent.vendor_options);
  EXPECT_EQ(event->peer.private_data.size, 196);
}

TEST(CmValuesTest, ARequestForADatagramServiceHasItsPorts) {
  const auto req = SidrRequestOf(Some(CmService::kUd), {PortSpace::kUdp, 7}, Addresses());
  const auto event = EventOf(Raised(CmEventType::kSidrRequest, req));
  ASSERT_TRUE(event);
  EXPECT_EQ(event->local.port, 7);
  EXPECT_EQ(event->remote.port, 1234);
  EXPECT_EQ(event->peer.service, CmService::kUd);
  EXPECT_EQ(event->peer.private_data.size, kSidrReqPrivateData);
}

// Programs pass 32 bits.
TEST(CmValuesTest, AVendorIdHas24Bits) {
  ConnectionParameters sent = Some(CmService::kRc);
  sent.vendor_options.vendor_id = 0xFF123456;
  EXPECT_EQ(RequestOf(sent, {PortSpace::kTcp, 7}, Addresses()).ece.vendor_id, 0x123456U);
  EXPECT_EQ(ResponseOf(sent).ece.vendor_id, 0x123456U);
}

TEST(CmValuesTest, ThePathOfARequestHasNoLids) {
  const auto req = RequestOf(Some(CmService::kRc), {PortSpace::kTcp, 7}, Addresses());
  EXPECT_FALSE(req.primary.subnet_local);
  EXPECT_EQ(req.primary.local_lid, wire::Lid(0xFFFF));
  EXPECT_EQ(req.primary.remote_lid, wire::Lid(0xFFFF));
}

TEST(CmValuesTest, AResponseHasTheAckDelayOfTheDevice) {
  EXPECT_EQ(ResponseOf(Some(CmService::kRc)).target_ack_delay, wire::CmTimeout(15));
}

TEST(CmValuesTest, ARequestOfAnotherServiceIsRefused) {
  auto req = RequestOf(Some(CmService::kRc), {PortSpace::kTcp, 7}, Addresses());
  req.service_id = wire::ServiceId(0x1000000000000001);
  EXPECT_FALSE(EventOf(Raised(CmEventType::kConnectRequest, req)));
}

TEST(CmValuesTest, ARejectionHasItsReason) {
  const wire::CmRej rej{.reason = wire::CmRejectReason::kConsumer};
  EXPECT_EQ(EventOf(Raised(CmEventType::kRejected, rej))->reason, 28);
  const wire::CmSidrRep rep{.status = wire::CmSidrStatus::kNoQp};
  EXPECT_EQ(EventOf(Raised(CmEventType::kSidrResponse, rep))->reason, 3);
}

TEST(CmValuesTest, PrivateDataThatIsTooLongIsRefused) {
  CmPrivateData data;
  data.size = 149;
  ASSERT_FALSE(ToWire<148>(data));
  EXPECT_EQ(ToWire<148>(data).error(), 148u);
  data.size = 148;
  EXPECT_TRUE(ToWire<148>(data));
}

}  // namespace
}  // namespace verbena::adapter
