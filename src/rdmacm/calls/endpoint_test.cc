#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <cerrno>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/cm_end.h"

namespace verbena::rdmacm {
namespace {

using testing::ConnectedPair;
using testing::QpWish;

struct FreeInfo {
  void operator()(rdma_addrinfo* info) const { rdma_freeaddrinfo(info); }
};
struct DestroyEndpoint {
  void operator()(rdma_cm_id* id) const { rdma_destroy_ep(id); }
};
using Info = std::unique_ptr<rdma_addrinfo, FreeInfo>;
using Endpoint = std::unique_ptr<rdma_cm_id, DestroyEndpoint>;

Info Address(uint16_t port, int flags) {
  rdma_addrinfo hints{}, *info = nullptr;
  hints.ai_port_space = RDMA_PS_TCP;
  hints.ai_flags = flags;
  EXPECT_EQ(rdma_getaddrinfo("127.0.0.1", std::to_string(port).c_str(), &hints, &info), 0);
  return Info(info);
}

Endpoint Make(const Info& info) {
  ibv_qp_init_attr wish = QpWish();
  rdma_cm_id* id = nullptr;
  EXPECT_EQ(rdma_create_ep(&id, info.get(), nullptr, &wish), 0);
  return Endpoint(id);
}

Endpoint Listener() {
  Endpoint listener = Make(Address(0, RAI_PASSIVE));
  EXPECT_EQ(rdma_listen(listener.get(), 4), 0);
  return listener;
}

uint16_t PortOf(const Endpoint& listener) { return ntohs(rdma_get_src_port(listener.get())); }

TEST(EndpointThreads, EveryCallWaitsForItsEvent) {
  const Endpoint listener = Listener();
  Endpoint passive;
  std::thread server([&] {
    rdma_cm_id* id = nullptr;
    ASSERT_EQ(rdma_get_request(listener.get(), &id), 0);
    passive.reset(id);
    EXPECT_NE(id->qp, nullptr);
    EXPECT_EQ(rdma_accept(id, nullptr), 0);
    EXPECT_EQ(id->event->event, RDMA_CM_EVENT_ESTABLISHED);
  });
  Endpoint active = Make(Address(PortOf(listener), 0));
  ASSERT_EQ(rdma_connect(active.get(), nullptr), 0);
  server.join();
  EXPECT_EQ(active->event->event, RDMA_CM_EVENT_ESTABLISHED);
  ConnectedPair::Exchange(active.get(), passive.get());
  std::thread other([&] { EXPECT_EQ(rdma_disconnect(passive.get()), 0); });
  EXPECT_EQ(rdma_disconnect(active.get()), 0);
  other.join();
}

TEST(EndpointThreads, ARejectionIsAFailureOfTheCall) {
  const Endpoint listener = Listener();
  std::thread server([&] {
    rdma_cm_id* id = nullptr;
    ASSERT_EQ(rdma_get_request(listener.get(), &id), 0);
    EXPECT_EQ(rdma_reject(id, nullptr, 0), 0);
    rdma_destroy_ep(id);
  });
  Endpoint active = Make(Address(PortOf(listener), 0));
  EXPECT_EQ(rdma_connect(active.get(), nullptr), -1);
  EXPECT_EQ(errno, ECONNREFUSED);
  EXPECT_EQ(active->event->event, RDMA_CM_EVENT_REJECTED);
  server.join();
}

TEST(EndpointTest, GetRequestNeedsASynchronousListener) {
  testing::CmEnd end;
  rdma_cm_id* id = nullptr;
  EXPECT_EQ(rdma_get_request(end.Listen(), &id), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST(EndpointTest, NoEndpointIsMadeIfTheAddressCannotBeBound) {
  const Endpoint listener = Listener();
  const Info info = Address(PortOf(listener), RAI_PASSIVE);
  ibv_qp_init_attr wish = QpWish();
  rdma_cm_id* id = nullptr;
  EXPECT_EQ(rdma_create_ep(&id, info.get(), nullptr, &wish), -1);
  EXPECT_EQ(errno, EADDRINUSE);
  EXPECT_EQ(rdma_create_ep(&id, nullptr, nullptr, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace verbena::rdmacm
