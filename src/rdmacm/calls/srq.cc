// The shared receive queue of an id.

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <cerrno>

#include "base/error.h"
#include "base/result.h"
#include "rdmacm/failure.h"
#include "rdmacm/objects/completion_queues.h"
#include "rdmacm/objects/id.h"

namespace verbena::rdmacm {
namespace {

// An XRC SRQ has its own domain and completion queue; the id provides those that the caller does
// not give.
ErrorOr<void> CompleteXrc(Id& id, ibv_srq_init_attr_ex& wish) {
  if ((wish.comp_mask & IBV_SRQ_INIT_ATTR_XRCD) == 0 || wish.xrcd == nullptr) {
    wish.xrcd = id.device->xrcd();
    if (wish.xrcd == nullptr) return Fail(SystemError("cannot open the XRC domain"));
  }
  if ((wish.comp_mask & IBV_SRQ_INIT_ATTR_CQ) == 0 || wish.cq == nullptr) {
    if (auto ok = CreateCompletionQueues(id, 0, wish.attr.max_wr); !ok) return ok;
    wish.cq = id.recv_cq;
  }
  wish.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  return {};
}

ErrorOr<void> CreateSrq(Id& id, ibv_srq_init_attr_ex& wish) {
  if (id.device == nullptr) return Fail(Invalid("the id is not bound to an address of a device"));
  if ((wish.comp_mask & IBV_SRQ_INIT_ATTR_TYPE) == 0) {
    return Fail(Invalid("comp_mask lacks IBV_SRQ_INIT_ATTR_TYPE"));
  }
  if ((wish.comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0 || wish.pd == nullptr) {
    wish.pd = id.pd;
    wish.comp_mask |= IBV_SRQ_INIT_ATTR_PD;
  }
  if (wish.srq_type == IBV_SRQT_XRC) {
    if (auto ok = CompleteXrc(id, wish); !ok) return ok;
  }
  ibv_srq* const srq = ibv_create_srq_ex(id.verbs, &wish);
  if (srq == nullptr) {
    const Error error = SystemError("cannot create the shared receive queue");
    DestroyCompletionQueues(id);
    return Fail(error);
  }
  if (id.pd == nullptr) id.pd = wish.pd;
  id.srq = srq;
  return {};
}

}  // namespace
}  // namespace verbena::rdmacm

using namespace verbena::rdmacm;  // NOLINT(google-build-using-namespace): the calls are global

int rdma_create_srq_ex(rdma_cm_id* id, ibv_srq_init_attr_ex* attributes) try {
  if (id == nullptr || attributes == nullptr) return MinusOne(EINVAL);
  const auto ok = CreateSrq(Cast(id), *attributes);
  return ok ? 0 : Failed("rdma_create_srq_ex", ok.error());
} catch (...) {
  return MinusOne(Thrown("rdma_create_srq_ex"));
}

int rdma_create_srq(rdma_cm_id* id, ibv_pd* pd, ibv_srq_init_attr* attributes) try {
  if (id == nullptr || attributes == nullptr) return MinusOne(EINVAL);
  ibv_srq_init_attr_ex extended{};
  extended.srq_context = attributes->srq_context;
  extended.attr = attributes->attr;
  extended.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
  extended.srq_type = id->qp_type == IBV_QPT_XRC_RECV ? IBV_SRQT_XRC : IBV_SRQT_BASIC;
  extended.pd = pd;
  const auto ok = CreateSrq(Cast(id), extended);
  if (!ok) return Failed("rdma_create_srq", ok.error());
  attributes->attr = extended.attr;
  return 0;
} catch (...) {
  return MinusOne(Thrown("rdma_create_srq"));
}

void rdma_destroy_srq(rdma_cm_id* id) try {
  if (id == nullptr || id->srq == nullptr) return;
  ibv_destroy_srq(id->srq);
  id->srq = nullptr;
  DestroyCompletionQueues(Cast(id));
} catch (...) {
  static_cast<void>(Thrown("rdma_destroy_srq"));
}
