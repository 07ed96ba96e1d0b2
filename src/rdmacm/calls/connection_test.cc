#include <fcntl.h>
#include <rdma/rdma_cma.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/support/cm_end.h"

namespace verbena::rdmacm {
namespace {

using testing::CmEnd;
using testing::ConnectedPair;
using testing::LoopbackAddress;
using testing::MakeQp;
using testing::PrivateDataOf;

rdma_conn_param Parameters(std::string_view data = "") {
  rdma_conn_param parameters{};
  parameters.private_data = data.data();
  parameters.private_data_len = static_cast<uint8_t>(data.size());
  parameters.responder_resources = 3;
  parameters.initiator_depth = 2;
  parameters.retry_count = 5;
  parameters.rnr_retry_count = 6;
  return parameters;
}

// A listener and a client whose request has arrived.
struct RequestWorld {
  explicit RequestWorld(std::string_view data = "") {
    listener = server.Listen();
    active = client.Resolve(listener);
    MakeQp(active);
    rdma_conn_param parameters = Parameters(data);
    EXPECT_EQ(rdma_connect(active, &parameters), 0);
    request = server.Next(RDMA_CM_EVENT_CONNECT_REQUEST);
    passive = server.Own(request->id);
  }

  CmEnd server, client;
  rdma_cm_id* listener = nullptr;
  rdma_cm_id* active = nullptr;
  rdma_cm_id* passive = nullptr;
  testing::OwnedEvent request;
};

TEST(ConnectionTest, BytesGoBothWays) {
  ConnectedPair pair;
  ConnectedPair::Exchange(pair.active, pair.passive);
  ConnectedPair::Exchange(pair.passive, pair.active);
}

TEST(ConnectionTest, Ipv6) {
  ConnectedPair pair(AF_INET6);
  EXPECT_EQ(rdma_get_peer_addr(pair.passive)->sa_family, AF_INET6);
  ConnectedPair::Exchange(pair.active, pair.passive);
}

TEST(ConnectionTest, ARequestShowsTheListenerBothAddressesAndTheLimits) {
  RequestWorld world("hello");
  EXPECT_EQ(world.request->listen_id, world.listener);
  EXPECT_EQ(world.request->status, 0);
  const rdma_conn_param& shown = world.request->param.conn;
  EXPECT_EQ(shown.private_data_len, 56);
  EXPECT_EQ(PrivateDataOf(shown.private_data, 6), std::string_view("hello\0", 6));
  // What the peer can serve is what this side may have outstanding.
  EXPECT_EQ(shown.responder_resources, 2);
  EXPECT_EQ(shown.initiator_depth, 3);
  EXPECT_EQ(shown.retry_count, 5);
  EXPECT_EQ(shown.rnr_retry_count, 6);
  EXPECT_EQ(shown.qp_num, world.active->qp->qp_num);
  EXPECT_EQ(rdma_get_src_port(world.passive), rdma_get_src_port(world.listener));
  EXPECT_EQ(rdma_get_dst_port(world.passive), rdma_get_src_port(world.active));
  EXPECT_EQ(rdma_get_src_port(world.passive), rdma_get_dst_port(world.active));
  EXPECT_NE(world.passive->verbs, nullptr);
  EXPECT_EQ(world.passive->port_num, 1);
  EXPECT_EQ(world.passive->route.num_paths, 1);
  world.request.reset();
}

TEST(ConnectionTest, AnAcceptanceCarriesPrivateDataAndLimits) {
  RequestWorld world;
  world.request.reset();
  MakeQp(world.passive);
  rdma_conn_param parameters = Parameters("welcome");
  parameters.responder_resources = 1;
  parameters.initiator_depth = RDMA_MAX_INIT_DEPTH;
  ASSERT_EQ(rdma_accept(world.passive, &parameters), 0);
  const auto event = world.client.Next(RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(event->param.conn.private_data_len, 196);
  EXPECT_EQ(PrivateDataOf(event->param.conn.private_data, 7), "welcome");
  EXPECT_EQ(event->param.conn.initiator_depth, 1);
  EXPECT_EQ(event->param.conn.responder_resources, 3);  // limited by the request
  world.server.Next(RDMA_CM_EVENT_ESTABLISHED);
  ibv_qp_attr attributes{};
  ibv_qp_init_attr unused{};
  ASSERT_EQ(ibv_query_qp(world.active->qp, &attributes, IBV_QP_STATE, &unused), 0);
  EXPECT_EQ(attributes.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(attributes.max_rd_atomic, 1);
  EXPECT_EQ(attributes.max_dest_rd_atomic, 3);
  EXPECT_EQ(attributes.retry_cnt, 5);
  EXPECT_EQ(attributes.rnr_retry, 6);
}

TEST(ConnectionTest, VendorOptionsTravelInTheRequestAndInItsAcceptance) {
  CmEnd server, client;
  rdma_cm_id* const listener = server.Listen();
  rdma_cm_id* const active = client.Resolve(listener);
  ibv_ece sent{.vendor_id = 0x15b3, .options = 0x10000001, .comp_mask = 0};
  ASSERT_EQ(rdma_set_local_ece(active, &sent), 0);
  rdma_conn_param parameters = Parameters();
  parameters.qp_num = 0x5677;
  ASSERT_EQ(rdma_connect(active, &parameters), 0);
  auto request = server.Next(RDMA_CM_EVENT_CONNECT_REQUEST);
  rdma_cm_id* const passive = server.Own(request->id);
  request.reset();
  ibv_ece shown{};
  ASSERT_EQ(rdma_get_remote_ece(passive, &shown), 0);
  EXPECT_EQ(shown.vendor_id, sent.vendor_id);
  EXPECT_EQ(shown.options, sent.options);
  shown.options = 1;  // what both have
  ASSERT_EQ(rdma_set_local_ece(passive, &shown), 0);
  parameters.qp_num = 0x5678;  // of the same adapter as the other one
  ASSERT_EQ(rdma_accept(passive, &parameters), 0);
  client.Next(RDMA_CM_EVENT_CONNECT_RESPONSE);
  ASSERT_EQ(rdma_get_remote_ece(active, &shown), 0);
  EXPECT_EQ(shown.vendor_id, sent.vendor_id);
  EXPECT_EQ(shown.options, 1U);
}

// A peer that is not Verbena waits for the timer whenever a page is absent.
TEST(ConnectionTest, TheTimerOfRnrNaksIsShortForAPeerThatRetriesForEver) {
  RequestWorld world;  // whose client asks for six retries
  world.request.reset();
  MakeQp(world.passive);
  rdma_conn_param parameters = Parameters("welcome");
  parameters.rnr_retry_count = 7;
  ASSERT_EQ(rdma_accept(world.passive, &parameters), 0);
  world.client.Next(RDMA_CM_EVENT_ESTABLISHED);
  world.server.Next(RDMA_CM_EVENT_ESTABLISHED);
  ibv_qp_attr attributes{};
  ibv_qp_init_attr unused{};
  ASSERT_EQ(ibv_query_qp(world.passive->qp, &attributes, IBV_QP_MIN_RNR_TIMER, &unused), 0);
  EXPECT_EQ(attributes.min_rnr_timer, 12);
  ASSERT_EQ(ibv_query_qp(world.active->qp, &attributes, IBV_QP_MIN_RNR_TIMER, &unused), 0);
  EXPECT_EQ(attributes.min_rnr_timer, 0);
}

TEST(ConnectionTest, ARejectionHasAReasonAndPrivateData) {
  constexpr int kByConsumer = 28;
  RequestWorld world;
  world.request.reset();
  ASSERT_EQ(rdma_reject(world.passive, "no", 2), 0);
  const auto event = world.client.Next(RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(event->status, kByConsumer);
  EXPECT_EQ(event->param.conn.private_data_len, 148);
  EXPECT_EQ(PrivateDataOf(event->param.conn.private_data, 2), "no");
  EXPECT_EQ(world.active->qp->state, IBV_QPS_ERR);
}

TEST(ConnectionTest, ARejectionOfVendorOptionsHasAReasonOfItsOwn) {
  constexpr int kVendorOption = 35;
  RequestWorld world;
  world.request.reset();
  ASSERT_EQ(rdma_reject_ece(world.passive, nullptr, 0), 0);
  EXPECT_EQ(world.client.Next(RDMA_CM_EVENT_REJECTED)->status, kVendorOption);
}

TEST(ConnectionTest, WithoutAListenerARequestIsRejected) {
  constexpr int kInvalidServiceId = 8;
  CmEnd server, client;
  rdma_cm_id* const bound = server.MakeId();
  sockaddr_storage address = LoopbackAddress();
  ASSERT_EQ(rdma_bind_addr(bound, testing::AsSockaddr(address)), 0);
  rdma_cm_id* const active = client.Resolve(bound);
  MakeQp(active);
  rdma_conn_param parameters = Parameters();
  ASSERT_EQ(rdma_connect(active, &parameters), 0);
  EXPECT_EQ(client.Next(RDMA_CM_EVENT_REJECTED)->status, kInvalidServiceId);
}

TEST(ConnectionTest, ARequestThatIsDestroyedIsRejected) {
  RequestWorld world;
  world.request.reset();
  world.server.End(world.passive);
  EXPECT_EQ(world.client.Next(RDMA_CM_EVENT_REJECTED)->status, 28);
}

TEST(ConnectionTest, BothSidesGetADisconnectEvent) {
  ConnectedPair pair;
  ASSERT_EQ(rdma_disconnect(pair.active), 0);
  EXPECT_EQ(pair.active->qp->state, IBV_QPS_ERR);
  EXPECT_EQ(pair.server.Next(RDMA_CM_EVENT_DISCONNECTED)->id, pair.passive);
  ASSERT_EQ(rdma_disconnect(pair.passive), 0);
  EXPECT_EQ(pair.client.Next(RDMA_CM_EVENT_DISCONNECTED)->status, 0);
  EXPECT_EQ(rdma_disconnect(pair.passive), 0);  // a second call is no error
}

TEST(ConnectionTest, ADisconnectIsFollowedByTimewaitExit) {
  ConnectedPair pair;
  ASSERT_EQ(rdma_disconnect(pair.active), 0);
  pair.server.Next(RDMA_CM_EVENT_DISCONNECTED);
  ASSERT_EQ(rdma_disconnect(pair.passive), 0);
  pair.client.Next(RDMA_CM_EVENT_DISCONNECTED);
  pair.client.Next(RDMA_CM_EVENT_TIMEWAIT_EXIT);
}

TEST(ConnectionTest, DestroyingAnIdDisconnects) {
  ConnectedPair pair;
  pair.client.End(pair.active);
  pair.server.Next(RDMA_CM_EVENT_DISCONNECTED);
}

TEST(ConnectionTest, WithoutAQueuePairTheProgramModifiesItsOwn) {
  CmEnd server, client;
  rdma_cm_id* const active = client.Resolve(server.Listen());
  rdma_conn_param parameters = Parameters();
  parameters.qp_num = 0x1234;
  ASSERT_EQ(rdma_connect(active, &parameters), 0);
  const auto request = server.Next(RDMA_CM_EVENT_CONNECT_REQUEST);
  rdma_cm_id* const passive = server.Own(request->id);
  EXPECT_EQ(request->param.conn.qp_num, 0x1234U);
  parameters.qp_num = 0x4321;
  ASSERT_EQ(rdma_accept(passive, &parameters), 0);
  EXPECT_EQ(client.Next(RDMA_CM_EVENT_CONNECT_RESPONSE)->param.conn.qp_num, 0x4321U);
  ibv_qp_attr attributes{};
  int mask = 0;
  attributes.qp_state = IBV_QPS_RTR;
  ASSERT_EQ(rdma_init_qp_attr(active, &attributes, &mask), 0);
  EXPECT_EQ(attributes.dest_qp_num, 0x4321U);
  ASSERT_EQ(rdma_establish(active), 0);
  server.Next(RDMA_CM_EVENT_ESTABLISHED);
}

TEST(ConnectionTest, PrivateDataMustFitTheMessage) {
  RequestWorld world;
  world.request.reset();
  const std::array<char, 255> bytes{};
  CmEnd client;
  rdma_cm_id* const active = client.Resolve(world.listener);
  MakeQp(active);
  rdma_conn_param parameters = Parameters({bytes.data(), 57});
  EXPECT_EQ(rdma_connect(active, &parameters), -1);
  EXPECT_EQ(errno, EINVAL);
  MakeQp(world.passive);
  parameters = Parameters({bytes.data(), 197});
  EXPECT_EQ(rdma_accept(world.passive, &parameters), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(rdma_reject(world.passive, bytes.data(), 149), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST(ConnectionTest, CallsInTheWrongStateFail) {
  CmEnd end;
  rdma_cm_id* const idle = end.MakeId();
  rdma_conn_param parameters = Parameters();
  EXPECT_EQ(rdma_connect(idle, &parameters), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(rdma_accept(idle, &parameters), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(rdma_reject(idle, nullptr, 0), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(rdma_disconnect(idle), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(rdma_establish(idle), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(rdma_notify(idle, IBV_EVENT_COMM_EST), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST(ConnectionTest, MoreReadsThanTheDeviceHasAreRefused) {
  CmEnd server, client;
  rdma_cm_id* const active = client.Resolve(server.Listen());
  MakeQp(active);
  rdma_conn_param parameters = Parameters();
  parameters.responder_resources = 254;
  EXPECT_EQ(rdma_connect(active, &parameters), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST(ConnectionTest, ADatagramServiceReportsItsQueuePair) {
  CmEnd server, client;
  rdma_cm_id* const active = client.Resolve(server.Listen(RDMA_PS_UDP));
  MakeQp(active);
  EXPECT_EQ(active->qp->state, IBV_QPS_RTS);
  rdma_conn_param parameters = Parameters("who");
  ASSERT_EQ(rdma_connect(active, &parameters), 0);
  auto request = server.Next(RDMA_CM_EVENT_CONNECT_REQUEST);
  EXPECT_EQ(PrivateDataOf(request->param.ud.private_data, 3), "who");
  EXPECT_EQ(request->param.ud.private_data_len, 180);
  rdma_cm_id* const passive = server.Own(request->id);
  request.reset();
  MakeQp(passive);
  parameters = Parameters("me");
  parameters.qp_num = passive->qp->qp_num;
  ASSERT_EQ(rdma_accept(passive, &parameters), 0);
  const auto answer = client.Next(RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(answer->param.ud.qp_num, passive->qp->qp_num);
  EXPECT_EQ(answer->param.ud.qkey, uint32_t{RDMA_UDP_QKEY});
  EXPECT_EQ(answer->param.ud.private_data_len, 136);
  EXPECT_EQ(PrivateDataOf(answer->param.ud.private_data, 2), "me");
  ibv_ah_attr address = answer->param.ud.ah_attr;
  ibv_ah* const handle = ibv_create_ah(active->pd, &address);
  ASSERT_NE(handle, nullptr);
  EXPECT_EQ(ibv_destroy_ah(handle), 0);
}

TEST(ConnectionTest, ARejectedDatagramRequestIsUnreachable) {
  constexpr int kRejected = 2;  // IBA 12.11.2
  CmEnd server, client;
  rdma_cm_id* const active = client.Resolve(server.Listen(RDMA_PS_UDP));
  rdma_conn_param parameters = Parameters();
  ASSERT_EQ(rdma_connect(active, &parameters), 0);
  rdma_cm_id* const passive = server.Own(server.Next(RDMA_CM_EVENT_CONNECT_REQUEST)->id);
  ASSERT_EQ(rdma_reject(passive, nullptr, 0), 0);
  EXPECT_EQ(client.Next(RDMA_CM_EVENT_UNREACHABLE)->status, kRejected);
}

}  // namespace
}  // namespace verbena::rdmacm
