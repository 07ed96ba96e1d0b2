// Shared receive queues. Posting to them is in post_recv.cc.

#include "ibverbs/objects/srq.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "base/result.h"
#include "ibverbs/failure.h"
#include "ibverbs/objects/event_acks.h"
#include "ibverbs/objects/objects.h"

namespace verbena::ibverbs {
namespace {

ErrorOr<void> CheckSize(const ibv_srq_attr& wish, const Options& options) {
  if (wish.max_wr < 1 || wish.max_wr > options.queue_depth_max || wish.max_sge > options.sges_max) {
    return Fail(Invalid("max_wr must be 1 to max_srq_wr, and max_sge at most max_srq_sge"));
  }
  return {};
}

ErrorOr<SharedReceiveQueue> MakeQueue(const ibv_srq_init_attr_ex& wish, uint32_t capacity,
                                      uint32_t sges_max) {
  const ProtectionDomain& domain = Cast(wish.pd).domain();
  switch (wish.srq_type) {
    case IBV_SRQT_XRC:
      return SharedReceiveQueue::CreateXrc(domain, *Cast(wish.xrcd).handle, Cast(wish.cq).handle,
                                           capacity, sges_max);
    case IBV_SRQT_TM:
      return SharedReceiveQueue::CreateTagMatching(domain, Cast(wish.cq).handle, capacity, sges_max,
                                                   wish.tm_cap.max_num_tags);
    case IBV_SRQT_BASIC:
      break;
  }
  return SharedReceiveQueue::Create(domain, capacity, sges_max);
}

ErrorOr<Srq*> Make(const ibv_srq_init_attr_ex& wish, ibv_srq_attr& size) {
  ibv_context* const context = wish.pd->context;
  if (const auto ok = CheckSize(size, Cast(context).handle.options()); !ok) return Fail(ok.error());
  const uint32_t sges_max = std::max(size.max_sge, 1U);
  auto made = MakeQueue(wish, size.max_wr, sges_max);
  if (!made) return Fail(made.error());
  auto srq = std::make_unique<Srq>();
  srq->context = context;
  srq->srq_context = wish.srq_context;
  srq->pd = wish.pd;
  srq->sges_max = sges_max;
  srq->type = wish.srq_type;
  srq->handle = std::move(*made);
  srq->pd_refcount = Refcount(Cast(wish.pd).users);
  Cast(context).id_map.Add(srq->handle.id(), srq.get());
  InitAcks(*srq);
  size.max_wr = srq->handle.capacity();
  size.max_sge = sges_max;
  return srq.release();
}

ErrorOr<void> Check(ibv_context* context, const ibv_srq_init_attr_ex& wish) {
  const auto has = [&](uint32_t attribute, const auto* object) {
    return (wish.comp_mask & attribute) != 0 && object != nullptr && object->context == context;
  };
  if ((wish.comp_mask & ~(uint32_t{IBV_SRQ_INIT_ATTR_RESERVED} - 1)) != 0) {
    return Fail(Invalid("unknown bits in comp_mask"));
  }
  if (!has(IBV_SRQ_INIT_ATTR_PD, wish.pd)) {
    return Fail(Invalid("a shared receive queue needs a protection domain of its context"));
  }
  if (wish.srq_type == IBV_SRQT_BASIC) return {};
  if (wish.srq_type == IBV_SRQT_TM) {
    const bool has_tags =
        (wish.comp_mask & IBV_SRQ_INIT_ATTR_TM) != 0 && wish.tm_cap.max_num_tags > 0;
    if (has_tags && has(IBV_SRQ_INIT_ATTR_CQ, wish.cq)) return {};
    return Fail(Invalid("tag matching needs tags and a completion queue of its context"));
  }
  if (wish.srq_type != IBV_SRQT_XRC) return Fail(Invalid("unknown type of shared receive queue"));
  if (!has(IBV_SRQ_INIT_ATTR_XRCD, wish.xrcd) || !has(IBV_SRQ_INIT_ATTR_CQ, wish.cq)) {
    return Fail(Invalid("an XRC SRQ needs an XRC domain and a completion queue of its context"));
  }
  return {};
}

}  // namespace

ibv_srq* CreateSrqEx(ibv_context* context, ibv_srq_init_attr_ex* attributes) try {
  constexpr auto kCall = "ibv_create_srq_ex";
  ibv_srq_init_attr_ex wish = *attributes;
  if ((wish.comp_mask & IBV_SRQ_INIT_ATTR_TYPE) == 0) wish.srq_type = IBV_SRQT_BASIC;
  if (const auto ok = Check(context, wish); !ok) return Null(kCall, ok.error());
  const auto srq = Make(wish, attributes->attr);
  if (!srq) return Null(kCall, srq.error());
  return *srq;
} catch (...) {
  return ThrownNull("ibv_create_srq_ex");
}

int GetSrqNumber(ibv_srq* srq, uint32_t* number) noexcept {
  const Srq& own = Cast(srq);
  // Other types have no number, because messages do not address them.
  if (own.type != IBV_SRQT_XRC) return EOPNOTSUPP;
  *number = own.handle.number().value();
  return 0;
}

}  // namespace verbena::ibverbs

using namespace verbena::ibverbs;  // NOLINT(google-build-using-namespace): the verbs are global

ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* attributes) try {
  ibv_srq_init_attr_ex wish{};
  wish.srq_context = attributes->srq_context;
  wish.srq_type = IBV_SRQT_BASIC;
  wish.pd = pd;
  const auto srq = Make(wish, attributes->attr);
  if (!srq) return Null("ibv_create_srq", srq.error());
  return *srq;
} catch (...) {
  return ThrownNull("ibv_create_srq");
}

int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attributes, int mask) try {
  constexpr auto kCall = "ibv_modify_srq";
  Srq& own = Cast(srq);
  if ((mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) != 0) return EINVAL;
  const bool resizes = (mask & IBV_SRQ_MAX_WR) != 0;
  const uint32_t capacity = resizes ? attributes->max_wr : own.handle.capacity();
  if (capacity > Cast(srq->context).handle.options().queue_depth_max) return EINVAL;
  if ((mask & IBV_SRQ_LIMIT) != 0 && attributes->srq_limit > capacity) return EINVAL;
  if (resizes) {
    if (const auto ok = own.handle.Resize(capacity); !ok) return Failed(kCall, ok.error());
  }
  if ((mask & IBV_SRQ_LIMIT) != 0) {
    const auto ok = own.handle.SetLimit(attributes->srq_limit);
    if (!ok) return Failed(kCall, ok.error());
  }
  return 0;
} catch (...) {
  return Thrown("ibv_modify_srq");
}

int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* attributes) {
  const Srq& own = Cast(srq);
  *attributes = {
      .max_wr = own.handle.capacity(), .max_sge = own.sges_max, .srq_limit = own.handle.limit()};
  return 0;
}

int ibv_destroy_srq(ibv_srq* srq) try {
  Srq& own = Cast(srq);
  const verbena::SrqId id = own.handle.id();
  if (const auto ok = own.handle.Destroy(); !ok) return Failed("ibv_destroy_srq", ok.error());
  Cast(srq->context).id_map.Remove(id, &own);
  AcksOf(*srq, srq->events_completed).WaitFor(own.async_events);
  EndAcks(*srq);
  delete &own;
  return 0;
} catch (...) {
  return Thrown("ibv_destroy_srq");
}
