// Shared receive queues. Posting to them is in post_recv.cc.

#include "ibverbs/srq.h"

#include <cerrno>
#include <memory>
#include <utility>

#include "base/result.h"
#include "ibverbs/event_acks.h"
#include "ibverbs/failure.h"
#include "ibverbs/objects.h"

namespace verbena::ibverbs {
namespace {

ErrorOr<void> CheckSize(const ibv_srq_attr& wish, const Options& options) {
  if (wish.max_wr < 1 || wish.max_wr > options.queue_depth_max || wish.max_sge > options.sges_max) {
    return Fail(Invalid("a shared receive queue of this size"));
  }
  return {};
}

ErrorOr<Srq*> Make(ibv_pd* pd, void* srq_context, ibv_srq_attr& wish) {
  if (const auto ok = CheckSize(wish, Own(pd->context).handle.options()); !ok) {
    return Fail(ok.error());
  }
  const uint32_t sges_max = std::max(wish.max_sge, 1U);
  auto made = SharedReceiveQueue::Create(Own(pd).domain(), wish.max_wr, sges_max);
  if (!made) return Fail(made.error());
  auto srq = std::make_unique<Srq>();
  srq->context = pd->context;
  srq->srq_context = srq_context;
  srq->pd = pd;
  srq->sges_max = sges_max;
  srq->handle = std::move(*made);
  srq->use_of_pd = Use(Own(pd).users);
  InitAcks(*static_cast<ibv_srq*>(srq.get()));
  wish.max_wr = srq->handle.capacity();
  wish.max_sge = sges_max;
  Own(pd->context).identities.Add(srq->handle.id(), srq.get());
  return srq.release();
}

}  // namespace

ibv_srq* CreateSrqEx(ibv_context* context, ibv_srq_init_attr_ex* attributes) {
  constexpr auto kCall = "ibv_create_srq_ex";
  const bool typed = (attributes->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) != 0;
  if (typed && attributes->srq_type != IBV_SRQT_BASIC) {
    return Null(kCall, NotOffered("shared receive queues of this type"));
  }
  if ((attributes->comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0 || attributes->pd == nullptr ||
      attributes->pd->context != context) {
    return Null(kCall, Invalid("a shared receive queue needs a protection domain of its context"));
  }
  const auto srq = Make(attributes->pd, attributes->srq_context, attributes->attr);
  if (!srq) return Null(kCall, srq.error());
  return *srq;
}

int GetSrqNumber(ibv_srq* /*srq*/, uint32_t* /*number*/) { return Unsupported("ibv_get_srq_num"); }

}  // namespace verbena::ibverbs

using namespace verbena::ibverbs;  // NOLINT(google-build-using-namespace): C has no other

ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* attributes) {
  const auto srq = Make(pd, attributes->srq_context, attributes->attr);
  if (!srq) return Null("ibv_create_srq", srq.error());
  return *srq;
}

int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attributes, int mask) {
  constexpr auto kCall = "ibv_modify_srq";
  Srq& own = Own(srq);
  if ((mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) != 0) return EINVAL;
  const bool resizes = (mask & IBV_SRQ_MAX_WR) != 0;
  const uint32_t capacity = resizes ? attributes->max_wr : own.handle.capacity();
  if (capacity > Own(srq->context).handle.options().queue_depth_max) return EINVAL;
  if ((mask & IBV_SRQ_LIMIT) != 0 && attributes->srq_limit > capacity) return EINVAL;
  if (resizes) {
    if (const auto ok = own.handle.Resize(capacity); !ok) return Failed(kCall, ok.error());
  }
  if ((mask & IBV_SRQ_LIMIT) != 0) {
    const auto ok = own.handle.SetLimit(attributes->srq_limit);
    if (!ok) return Failed(kCall, ok.error());
  }
  return 0;
}

int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* attributes) {
  const Srq& own = Own(srq);
  *attributes = {
      .max_wr = own.handle.capacity(), .max_sge = own.sges_max, .srq_limit = own.handle.limit()};
  return 0;
}

int ibv_destroy_srq(ibv_srq* srq) {
  Srq& own = Own(srq);
  const verbena::SrqId id = own.handle.id();
  if (const auto ok = own.handle.Destroy(); !ok) return Failed("ibv_destroy_srq", ok.error());
  Own(srq->context).identities.Remove(id);
  AcksOf(*srq, srq->events_completed).WaitFor(own.async_events);
  EndAcks(*srq);
  delete &own;
  return 0;
}
