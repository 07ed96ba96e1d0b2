// Completion queues: create, resize, modify, destroy. Polling is in poll.cc and cq_ex.cc.

#include "ibverbs/objects/cq.h"

#include <cerrno>
#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "ibverbs/failure.h"
#include "ibverbs/objects/event_acks.h"

namespace verbena::ibverbs {
namespace {

using namespace std::string_view_literals;

// The arguments that ibv_create_cq and ibv_create_cq_ex have in common.
struct CqWish {
  int64_t entries = 0;
  int64_t vector = 0;
  ibv_comp_channel* channel = nullptr;
  void* cq_context = nullptr;
};

ErrorOr<void> Check(ibv_context* context, const CqWish& wish) {
  if (wish.entries < 1 || wish.entries > Cast(context).handle.options().completion_depth_max) {
    return Fail(Invalid("the number of entries must be 1 to max_cqe of ibv_query_device"));
  }
  if (wish.vector < 0 || wish.vector >= context->num_comp_vectors) {
    return Fail(Invalid("the completion vector must be 0"));
  }
  if (wish.channel != nullptr && wish.channel->context != context) {
    return Fail(Invalid("the completion channel belongs to another context"));
  }
  return {};
}

ErrorOr<std::unique_ptr<Cq>> Make(ibv_context* context, const CqWish& wish) {
  if (const auto ok = Check(context, wish); !ok) return Fail(ok.error());
  const CompletionChannel* const channel =
      wish.channel != nullptr ? &Cast(wish.channel).handle : nullptr;
  auto made =
      CompletionQueue::Create(Cast(context).handle, static_cast<size_t>(wish.entries), channel);
  if (!made) return Fail(made.error());
  auto cq = std::make_unique<Cq>();
  cq->context = context;
  cq->channel = wish.channel;
  cq->cq_context = wish.cq_context;
  cq->cqe = static_cast<int>(made->capacity());
  cq->handle = std::move(*made);
  Cast(context).id_map.Add(cq->handle.id(), cq.get());
  InitAcks(*cq);
  if (wish.channel != nullptr) ++wish.channel->refcnt;
  return cq;
}

ErrorOr<void> CheckExtensions(ibv_context* context, const ibv_cq_init_attr_ex& attributes) {
  constexpr uint32_t kMasks = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
  constexpr uint32_t kFlags =
      IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
  if ((attributes.comp_mask & ~kMasks) != 0) {
    return Fail(Invalid("unknown bits in comp_mask"));
  }
  if ((attributes.wc_flags & ~kWcFlagsSupported) != 0) {
    return Fail(NotOffered("unsupported bits in wc_flags"));
  }
  if ((attributes.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 &&
      (attributes.flags & ~kFlags) != 0) {
    return Fail(NotOffered("unsupported flags"));
  }
  if ((attributes.comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0) {
    const ibv_pd* const pd = attributes.parent_domain;
    if (pd == nullptr || pd->context != context || static_cast<const Pd*>(pd)->parent == nullptr) {
      return Fail(Invalid("not a parent domain of this context"));
    }
  }
  return {};
}

}  // namespace

ibv_cq_ex* CreateCqEx(ibv_context* context, ibv_cq_init_attr_ex* attributes) try {
  constexpr auto kCall = "ibv_create_cq_ex"sv;
  if (const auto ok = CheckExtensions(context, *attributes); !ok) return Null(kCall, ok.error());
  auto cq = Make(context, {.entries = attributes->cqe,
                           .vector = attributes->comp_vector,
                           .channel = attributes->channel,
                           .cq_context = attributes->cq_context});
  if (!cq) return Null(kCall, cq.error());
  FillPollFunctions(**cq);
  return cq->release();
} catch (...) {
  return ThrownNull("ibv_create_cq_ex");
}

int ModifyCq(ibv_cq* cq, ibv_modify_cq_attr* attributes) try {
  if ((attributes->attr_mask & ~uint32_t{IBV_CQ_ATTR_MODERATE}) != 0) return EINVAL;
  if ((attributes->attr_mask & IBV_CQ_ATTR_MODERATE) == 0) return 0;
  const auto ok = Cast(cq).handle.SetModeration(
      attributes->moderate.cq_count, std::chrono::microseconds(attributes->moderate.cq_period));
  return ok ? 0 : Failed("ibv_modify_cq", ok.error());
} catch (...) {
  return Thrown("ibv_modify_cq");
}

int RequestNotify(ibv_cq* cq, int solicited_only) noexcept {
  // A CQ without a channel raises no event. To ask for one is no error.
  if (cq->channel == nullptr) return 0;
  const auto ok =
      Cast(cq).handle.RequestNotify(solicited_only != 0 ? Notify::kSolicited : Notify::kAll);
  return ok ? 0 : ErrnoOf(ok.error());
}

}  // namespace verbena::ibverbs

using namespace verbena::ibverbs;  // NOLINT(google-build-using-namespace): the verbs are global

ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* cq_context,
                      ibv_comp_channel* channel, int vector) try {
  auto cq =
      Make(context,
           {.entries = entries, .vector = vector, .channel = channel, .cq_context = cq_context});
  if (!cq) return Null("ibv_create_cq", cq.error());
  return ibv_cq_ex_to_cq(cq->release());
} catch (...) {
  return ThrownNull("ibv_create_cq");
}

int ibv_resize_cq(ibv_cq* cq, int entries) try {
  Cq& own = Cast(cq);
  const auto max = Cast(cq->context).handle.options().completion_depth_max;
  if (entries < 1 || static_cast<uint32_t>(entries) > max) return EINVAL;
  if (const auto ok = own.handle.Resize(static_cast<size_t>(entries)); !ok) {
    return Failed("ibv_resize_cq", ok.error());
  }
  cq->cqe = static_cast<int>(own.handle.capacity());
  return 0;
} catch (...) {
  return Thrown("ibv_resize_cq");
}

int ibv_destroy_cq(ibv_cq* cq) try {
  Cq& own = Cast(cq);
  const verbena::CqId id = own.handle.id();
  if (const auto ok = own.handle.Destroy(); !ok) return Failed("ibv_destroy_cq", ok.error());
  Cast(cq->context).id_map.Remove(id, &own);
  AcksOf(*cq, cq->comp_events_completed).WaitFor(own.completion_events);
  AcksOf(*cq, cq->async_events_completed).WaitFor(own.async_events);
  if (cq->channel != nullptr) --cq->channel->refcnt;
  EndAcks(*cq);
  delete &own;
  return 0;
} catch (...) {
  return Thrown("ibv_destroy_cq");
}
