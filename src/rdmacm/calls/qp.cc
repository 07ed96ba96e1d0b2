// The queue pair of an id.

#include <rdma/rdma_cma.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "base/error.h"
#include "base/result.h"
#include "ibverbs/shared.h"
#include "rdmacm/failure.h"
#include "rdmacm/objects/completion_queues.h"
#include "rdmacm/objects/group.h"
#include "rdmacm/objects/id.h"
#include "rdmacm/objects/qp_transition.h"
#include "verbena/options.h"

namespace verbena::rdmacm {
namespace {

ErrorOr<void> Check(const Id& id, const ibv_qp_init_attr_ex& wish) {
  if (id.device == nullptr) return Fail(Invalid("the id is not bound to an address of a device"));
  if (id.qp != nullptr) return Fail(Invalid("the id already has a queue pair"));
  if (wish.pd != nullptr && wish.pd->context != id.verbs) {
    return Fail(Invalid("the protection domain belongs to another context"));
  }
  const auto is_other = [](const ibv_cq* own, const ibv_cq* given) {
    return own != nullptr && given != nullptr && own != given;
  };
  if (is_other(id.recv_cq, wish.recv_cq) || is_other(id.send_cq, wish.send_cq)) {
    return Fail(Invalid("the id already has another completion queue"));
  }
  return {};
}

// As large as the gather list that it replaces in a work request. Some programs (rdma_xclient) send
// inline without a request for inline room, because other adapters grant this much.
uint32_t InlineMin(const ibv_qp_cap& cap) {
  return std::min<uint32_t>(cap.max_send_sge, kSgesMax) * uint32_t{sizeof(ibv_sge)};
}

// Fills in what the caller leaves to the id: protection domain, XRC domain, queues.
ErrorOr<void> Complete(Id& id, ibv_qp_init_attr_ex& wish) {
  wish.cap.max_inline_data = std::max(wish.cap.max_inline_data, InlineMin(wish.cap));
  if (wish.pd == nullptr) wish.pd = id.pd;
  wish.comp_mask |= IBV_QP_INIT_ATTR_PD;
  if (id.qp_type == IBV_QPT_XRC_RECV &&
      ((wish.comp_mask & IBV_QP_INIT_ATTR_XRCD) == 0 || wish.xrcd == nullptr)) {
    wish.xrcd = id.device->xrcd();
    if (wish.xrcd == nullptr) return Fail(SystemError("cannot open the XRC domain"));
    wish.comp_mask |= IBV_QP_INIT_ATTR_XRCD;
  }
  const auto depth = [](const ibv_cq* given, const ibv_cq* own, uint32_t wanted) {
    return given != nullptr || own != nullptr ? 0 : wanted;
  };
  if (auto ok = CreateCompletionQueues(id, depth(wish.send_cq, id.send_cq, wish.cap.max_send_wr),
                                       depth(wish.recv_cq, id.recv_cq, wish.cap.max_recv_wr));
      !ok) {
    return ok;
  }
  if (wish.send_cq == nullptr) wish.send_cq = id.send_cq;
  if (wish.recv_cq == nullptr) wish.recv_cq = id.recv_cq;
  if (wish.srq == nullptr) wish.srq = id.srq;
  return {};
}

ErrorOr<void> CreateQp(Id& id, ibv_qp_init_attr_ex& wish) {
  if ((wish.comp_mask & IBV_QP_INIT_ATTR_PD) == 0) wish.pd = nullptr;
  if (auto ok = Check(id, wish); !ok) return ok;
  if (auto ok = Complete(id, wish); !ok) return ok;
  ibv_qp* const qp = ibv_create_qp_ex(id.verbs, &wish);
  auto ready = qp != nullptr ? Prepare(id, *qp) : Fail(SystemError("cannot create the queue pair"));
  if (!ready) {
    if (qp != nullptr) ibv_destroy_qp(qp);
    DestroyCompletionQueues(id);
    return ready;
  }
  if (qp->pd != nullptr) id.pd = qp->pd;
  id.qp = qp;
  return {};
}

}  // namespace
}  // namespace verbena::rdmacm

using namespace verbena::rdmacm;  // NOLINT(google-build-using-namespace): the calls are global

int rdma_create_qp_ex(rdma_cm_id* id, ibv_qp_init_attr_ex* attributes) try {
  if (id == nullptr || attributes == nullptr) return MinusOne(EINVAL);
  const auto ok = CreateQp(Cast(id), *attributes);
  return ok ? 0 : Failed("rdma_create_qp_ex", ok.error());
} catch (...) {
  return MinusOne(Thrown("rdma_create_qp_ex"));
}

int rdma_create_qp(rdma_cm_id* id, ibv_pd* pd, ibv_qp_init_attr* attributes) try {
  if (id == nullptr || attributes == nullptr) return MinusOne(EINVAL);
  ibv_qp_init_attr_ex extended = verbena::ibverbs::Extended(*attributes, pd);
  const auto ok = CreateQp(Cast(id), extended);
  if (!ok) return Failed("rdma_create_qp", ok.error());
  attributes->send_cq = extended.send_cq;
  attributes->recv_cq = extended.recv_cq;
  attributes->srq = extended.srq;
  attributes->cap = extended.cap;
  return 0;
} catch (...) {
  return MinusOne(Thrown("rdma_create_qp"));
}

void rdma_destroy_qp(rdma_cm_id* id) try {
  if (id == nullptr || id->qp == nullptr) return;
  Id& own = Cast(id);
  {
    // A queue pair that is attached to a group could not be destroyed.
    const verbena::MutexLock lock(own.mutex);
    for (const auto& group : own.groups) Detach(own, *group);
  }
  ibv_destroy_qp(own.qp);
  own.qp = nullptr;
  DestroyCompletionQueues(own);
} catch (...) {
  static_cast<void>(Thrown("rdma_destroy_qp"));
}

int rdma_init_qp_attr(rdma_cm_id* id, ibv_qp_attr* attributes, int* mask) try {
  if (id == nullptr || attributes == nullptr || mask == nullptr) return MinusOne(EINVAL);
  const auto change = ChangeTo(Cast(id), attributes->qp_state);
  if (!change) return Failed("rdma_init_qp_attr", change.error());
  *attributes = change->attributes;
  *mask = change->mask;
  return 0;
} catch (...) {
  return MinusOne(Thrown("rdma_init_qp_attr"));
}
