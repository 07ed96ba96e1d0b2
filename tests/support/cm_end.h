#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace verbena::testing {

struct AcknowledgeEvent {
  void operator()(rdma_cm_event* event) const { rdma_ack_cm_event(event); }
};
// Acknowledged when it goes out of scope.
using OwnedEvent = std::unique_ptr<rdma_cm_event, AcknowledgeEvent>;

// 127.0.0.1, or ::1.
inline sockaddr_storage LoopbackAddress(int family = AF_INET, uint16_t port = 0) {
  sockaddr_storage storage{};
  if (family == AF_INET) {
    auto& address = reinterpret_cast<sockaddr_in&>(storage);
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  } else {
    auto& address = reinterpret_cast<sockaddr_in6&>(storage);
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    address.sin6_addr = in6addr_loopback;
  }
  return storage;
}

inline sockaddr* AsSockaddr(sockaddr_storage& storage) {
  return reinterpret_cast<sockaddr*>(&storage);
}

inline std::string_view PrivateDataOf(const void* data, size_t size) {
  return {static_cast<const char*>(data), size};
}

// A program on librdmacm: an event channel and ids, used as programs use them. Two CmEnds in one
// process can connect to each other.
//
// The destructor destroys everything that the object made.
class CmEnd {
 public:
  static constexpr int kTimeoutMs = 10'000;

  CmEnd() : channel(rdma_create_event_channel()) {
    if (channel == nullptr) {
      ADD_FAILURE() << "no event channel";
      std::abort();
    }
  }
  CmEnd(const CmEnd&) = delete;
  CmEnd& operator=(const CmEnd&) = delete;
  ~CmEnd() {
    for (rdma_cm_id* const id : ids_) Destroy(id);
    rdma_destroy_event_channel(channel);
  }

  rdma_cm_id* MakeId(rdma_port_space space = RDMA_PS_TCP, void* context = nullptr) {
    rdma_cm_id* id = nullptr;
    EXPECT_EQ(rdma_create_id(channel, &id, context, space), 0);
    return Own(id);
  }
  // Takes over an id from an event.
  rdma_cm_id* Own(rdma_cm_id* id) {
    ids_.push_back(id);
    return id;
  }
  // Destroys an id early.
  void End(rdma_cm_id* id) {
    std::erase(ids_, id);
    Destroy(id);
  }

  [[nodiscard]] bool HasEvent(int timeout_ms = 0) const {
    pollfd file{.fd = channel->fd, .events = POLLIN, .revents = 0};
    return poll(&file, 1, timeout_ms) == 1;
  }
  // The next event.
  OwnedEvent Next() const {
    rdma_cm_event* event = nullptr;
    EXPECT_EQ(rdma_get_cm_event(channel, &event), 0);
    return OwnedEvent(event);
  }
  // The next event, which must be of this type.
  OwnedEvent Next(rdma_cm_event_type type) const {
    if (!HasEvent(kTimeoutMs)) {
      ADD_FAILURE() << "no event; expected " << rdma_event_str(type);
      return nullptr;
    }
    OwnedEvent event = Next();
    EXPECT_STREQ(rdma_event_str(event->event), rdma_event_str(type)) << "status " << event->status;
    return event;
  }

  // A listener on a free port of the loopback address.
  rdma_cm_id* Listen(rdma_port_space space = RDMA_PS_TCP, int family = AF_INET) {
    rdma_cm_id* const id = MakeId(space);
    sockaddr_storage address = LoopbackAddress(family);
    EXPECT_EQ(rdma_bind_addr(id, AsSockaddr(address)), 0);
    EXPECT_EQ(rdma_listen(id, 8), 0);
    return id;
  }
  // An id whose route to the listener is resolved.
  rdma_cm_id* Resolve(rdma_cm_id* listener) {
    return ResolveTo(listener->route.addr.src_storage, listener->ps);
  }
  rdma_cm_id* ResolveTo(sockaddr_storage address, rdma_port_space space = RDMA_PS_TCP) {
    rdma_cm_id* const id = MakeId(space);
    EXPECT_EQ(rdma_resolve_addr(id, nullptr, AsSockaddr(address), kTimeoutMs), 0);
    Next(RDMA_CM_EVENT_ADDR_RESOLVED);
    EXPECT_EQ(rdma_resolve_route(id, kTimeoutMs), 0);
    Next(RDMA_CM_EVENT_ROUTE_RESOLVED);
    return id;
  }

  rdma_event_channel* const channel;

 private:
  static void Destroy(rdma_cm_id* id) {
    if (id->qp != nullptr) rdma_destroy_qp(id);
    if (id->srq != nullptr) rdma_destroy_srq(id);
    EXPECT_EQ(rdma_destroy_id(id), 0);
  }

  std::vector<rdma_cm_id*> ids_;
};

// A queue pair whose completion queues the id makes.
inline ibv_qp_init_attr QpWish(ibv_qp_type type = IBV_QPT_RC) {
  ibv_qp_init_attr wish{};
  wish.cap = {.max_send_wr = 8,
              .max_recv_wr = 8,
              .max_send_sge = 1,
              .max_recv_sge = 1,
              .max_inline_data = 0};
  wish.qp_type = type;
  wish.sq_sig_all = 1;
  return wish;
}

inline void MakeQp(rdma_cm_id* id) {
  ibv_qp_init_attr wish = QpWish(id->qp_type);
  ASSERT_EQ(rdma_create_qp(id, nullptr, &wish), 0);
}

// Two ids with queue pairs and a connection between them, each with an event channel of its own.
struct ConnectedPair {
  explicit ConnectedPair(int family = AF_INET) {
    listener = server.Listen(RDMA_PS_TCP, family);
    active = client.Resolve(listener);
    MakeQp(active);
    rdma_conn_param parameters{};
    parameters.responder_resources = parameters.initiator_depth = 4;
    parameters.retry_count = parameters.rnr_retry_count = 7;
    EXPECT_EQ(rdma_connect(active, &parameters), 0);
    passive = server.Own(server.Next(RDMA_CM_EVENT_CONNECT_REQUEST)->id);
    MakeQp(passive);
    EXPECT_EQ(rdma_accept(passive, nullptr), 0);
    client.Next(RDMA_CM_EVENT_ESTABLISHED);
    server.Next(RDMA_CM_EVENT_ESTABLISHED);
  }

  // Sends a message from one id to the other, and compares the bytes.
  static void Exchange(rdma_cm_id* from, rdma_cm_id* to) {
    std::array<char, 64> sent{}, received{};
    sent.fill('v');
    ibv_mr* const source = rdma_reg_msgs(from, sent.data(), sent.size());
    ibv_mr* const target = rdma_reg_msgs(to, received.data(), received.size());
    ASSERT_EQ(rdma_post_recv(to, nullptr, received.data(), received.size(), target), 0);
    ASSERT_EQ(rdma_post_send(from, nullptr, sent.data(), sent.size(), source, 0), 0);
    ibv_wc completion{};
    ASSERT_EQ(rdma_get_send_comp(from, &completion), 1);
    EXPECT_EQ(completion.status, IBV_WC_SUCCESS);
    ASSERT_EQ(rdma_get_recv_comp(to, &completion), 1);
    EXPECT_EQ(completion.status, IBV_WC_SUCCESS);
    EXPECT_EQ(sent, received);
    EXPECT_EQ(rdma_dereg_mr(source), 0);
    EXPECT_EQ(rdma_dereg_mr(target), 0);
  }

  CmEnd server, client;
  rdma_cm_id* listener = nullptr;
  rdma_cm_id* active = nullptr;
  rdma_cm_id* passive = nullptr;
};

}  // namespace verbena::testing
