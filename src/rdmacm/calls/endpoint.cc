// Synchronous endpoints: one call makes an id with its addresses and its queue pair.

#include <cxxabi.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>

#include "rdmacm/failure.h"
#include "rdmacm/objects/completion.h"
#include "rdmacm/objects/id.h"
#include "rdmacm/objects/parameters.h"

namespace verbena::rdmacm {
namespace {

constexpr int kTimeoutMs = 2'000;

// rdma_get_request makes the queue pairs of the connections.
int SetUpPassive(Id& id, const rdma_addrinfo& info, ibv_pd* pd, const ibv_qp_init_attr* wish) {
  if (const int failed = rdma_bind_addr(&id, info.ai_src_addr); failed != 0) return failed;
  if (pd != nullptr) id.pd = pd;
  if (wish != nullptr) {
    id.qp_template = *wish;
    id.qp_template->qp_type = static_cast<ibv_qp_type>(info.ai_qp_type);
  }
  return 0;
}

int SetUpActive(Id& id, const rdma_addrinfo& info, ibv_pd* pd, ibv_qp_init_attr* wish) {
  int failed = rdma_resolve_addr(&id, info.ai_src_addr, info.ai_dst_addr, kTimeoutMs);
  if (failed == 0) failed = rdma_resolve_route(&id, kTimeoutMs);
  if (failed == 0 && wish != nullptr) {
    wish->qp_type = static_cast<ibv_qp_type>(info.ai_qp_type);
    failed = rdma_create_qp(&id, pd, wish);
  }
  if (failed != 0) return failed;
  if (info.ai_connect_len > 0) {
    const auto* const data = static_cast<const std::byte*>(info.ai_connect);
    id.connect_data.assign(data, data + info.ai_connect_len);
  }
  return 0;
}

// The error number for an event other than a request; 0 for a request.
int ErrorOf(const rdma_cm_event& event) {
  if (event.event == RDMA_CM_EVENT_REJECTED) return ECONNREFUSED;
  if (event.status != 0) return std::abs(event.status);
  return event.event == RDMA_CM_EVENT_CONNECT_REQUEST ? 0 : EINVAL;
}

}  // namespace
}  // namespace verbena::rdmacm

using namespace verbena::rdmacm;  // NOLINT(google-build-using-namespace): the calls are global

int rdma_create_ep(rdma_cm_id** id, rdma_addrinfo* info, ibv_pd* pd, ibv_qp_init_attr* wish) try {
  if (id == nullptr || info == nullptr) return MinusOne(EINVAL);
  auto made = MakeId(nullptr, nullptr, static_cast<rdma_port_space>(info->ai_port_space),
                     static_cast<ibv_qp_type>(info->ai_qp_type));
  if (!made) return Failed("rdma_create_ep", made.error());
  Id& own = *made->release();
  const int failed = (info->ai_flags & RAI_PASSIVE) != 0 ? SetUpPassive(own, *info, pd, wish)
                                                         : SetUpActive(own, *info, pd, wish);
  if (failed != 0) {
    const int error = errno;
    rdma_destroy_ep(&own);
    return MinusOne(error);
  }
  *id = &own;
  return 0;
} catch (abi::__forced_unwind&) {
  throw;  // pthread_cancel of a thread in the wait
} catch (...) {
  return MinusOne(Thrown("rdma_create_ep"));
}

void rdma_destroy_ep(rdma_cm_id* id) try {
  if (id == nullptr) return;
  if (id->qp != nullptr) rdma_destroy_qp(id);
  if (id->srq != nullptr) rdma_destroy_srq(id);
  static_cast<void>(rdma_destroy_id(id));
} catch (...) {
  static_cast<void>(Thrown("rdma_destroy_ep"));
}

int rdma_get_request(rdma_cm_id* listener, rdma_cm_id** id) try {
  if (listener == nullptr || id == nullptr || !Cast(listener).is_synchronous()) {
    return MinusOne(EINVAL);
  }
  AcknowledgeKept(Cast(listener));
  rdma_cm_event* event = nullptr;
  if (const int failed = rdma_get_cm_event(listener->channel, &event); failed != 0) return failed;
  int error = ErrorOf(*event);
  if (error == 0 && Cast(listener).qp_template) {
    ibv_qp_init_attr wish = *Cast(listener).qp_template;
    if (rdma_create_qp(event->id, listener->pd, &wish) != 0) error = errno;
  }
  if (error != 0) {
    listener->event = event;
    return MinusOne(error);
  }
  event->id->event = event;
  *id = event->id;
  return 0;
} catch (abi::__forced_unwind&) {
  throw;  // pthread_cancel of a thread in the wait
} catch (...) {
  return MinusOne(Thrown("rdma_get_request"));
}
