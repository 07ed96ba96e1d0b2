// The calls about completion channels, completion queues, shared receive queues, and event queues.

#include <string>
#include <utility>

#include "adapter/control/adapter.h"
#include "adapter/control/impl.h"

namespace verbena::adapter {
namespace {

Error InUse(const char* what) {
  return {ErrorCode::kInUse, std::string(what) + " is still in use"};
}

}  // namespace

ErrorOr<CompletionChannel*> Adapter::CreateChannel() {
  if (const auto dead = Dead()) return Fail(*dead);
  auto file = EventFile::Open(true);
  if (!file) return Fail(file.error());
  const EngineLock lock(impl_->engine);
  CompletionChannel* const channel = impl_->channels.Add(std::move(*file));
  if (channel == nullptr) {
    return Fail(LimitError(impl_->channels.limit(), "completion channels", "channels_max"));
  }
  return channel;
}

ErrorOr<void> Adapter::Destroy(CompletionChannel* channel) {
  if (const auto dead = Dead()) return Fail(*dead);
  const EngineLock lock(impl_->engine);
  if (channel->users > 0) return Fail(InUse("the completion channel"));
  if (channel->has_waiters()) {
    return Fail(Error{ErrorCode::kInUse, "a thread waits for an event of the completion channel"});
  }
  impl_->channels.Remove(channel);
  return {};
}

ErrorOr<EventQueue*> Adapter::CreateEventQueue() {
  if (const auto dead = Dead()) return Fail(*dead);
  auto file = EventFile::Open(true);
  if (!file) return Fail(file.error());
  EventQueue* const events = impl_->events.Add(std::move(*file), impl_->options.events_max);
  if (events == nullptr) {
    return Fail(LimitError(impl_->options.contexts_max, "contexts of a device", "contexts_max"));
  }
  return events;
}

ErrorOr<void> Adapter::Destroy(EventQueue* events) {
  if (const auto dead = Dead()) return Fail(*dead);
  const EngineLock lock(impl_->engine);
  if (events->users > 0) return Fail(InUse("the queue of asynchronous events"));
  impl_->events.Remove(events);
  return {};
}

ErrorOr<Cq*> Adapter::CreateCq(size_t capacity, CompletionChannel* channel, EventQueue* events) {
  if (const auto dead = Dead()) return Fail(*dead);
  if (capacity == 0) return Fail(InvalidError("a completion queue needs at least 1 entry, not 0"));
  if (capacity > impl_->options.completion_depth_max) {
    return Fail(LimitError(impl_->options.completion_depth_max, "completions in a queue",
                           "completion_depth_max"));
  }
  const EngineLock lock(impl_->engine);
  Cq* const cq = impl_->cqs.Add(capacity, channel, events);
  if (cq == nullptr) {
    return Fail(LimitError(impl_->cqs.limit(), "completion queues", "cqs_max"));
  }
  if (channel != nullptr) ++channel->users;
  if (events != nullptr) ++events->users;
  return cq;
}

ErrorOr<void> Adapter::Destroy(Cq* cq) {
  if (const auto dead = Dead()) return Fail(*dead);
  const EngineLock lock(impl_->engine);
  if (cq->users > 0) return Fail(InUse("the completion queue"));
  impl_->engine.RemoveCq(*cq);
  if (cq->channel() != nullptr) --cq->channel()->users;
  if (cq->events() != nullptr) --cq->events()->users;
  impl_->cqs.Remove(cq);
  return {};
}

ErrorOr<void> Adapter::Resize(Cq& cq, size_t capacity) {
  if (const auto dead = Dead()) return Fail(*dead);
  if (capacity == 0) return Fail(InvalidError("a completion queue needs at least 1 entry, not 0"));
  if (capacity > impl_->options.completion_depth_max) {
    return Fail(LimitError(impl_->options.completion_depth_max, "completions in a queue",
                           "completion_depth_max"));
  }
  const EngineLock lock(impl_->engine);
  if (const auto resized = cq.Resize(capacity); !resized) {
    return Fail(InvalidError(resized.error() == queue::CqError::kOverflow
                                 ? "cannot resize a completion queue that has overflowed"
                                 : "cannot shrink the completion queue to " +
                                       std::to_string(capacity) +
                                       " entries: more completions are waiting"));
  }
  return {};
}

ErrorOr<void> Adapter::SetModeration(Cq& cq, uint32_t count, Duration period) {
  if (const auto dead = Dead()) return Fail(*dead);
  const EngineLock lock(impl_->engine);
  impl_->engine.MakeRoomForModeration();
  cq.is_moderated = count > 1 && period > Duration();
  cq.SetModeration(count, period);
  impl_->engine.UpdateModeration(cq);
  return {};
}

ErrorOr<void> Adapter::CheckSrqSize(uint32_t capacity, uint32_t sges) const {
  const AdapterOptions& options = impl_->options;
  if (capacity == 0)
    return Fail(InvalidError("a shared receive queue needs at least 1 element, not 0"));
  if (capacity > options.queue_depth_max) {
    return Fail(LimitError(options.queue_depth_max, "elements of a queue", "queue_depth_max"));
  }
  if (sges > options.sges_max) {
    return Fail(LimitError(options.sges_max, "scatter/gather elements", "sges_max"));
  }
  return {};
}

// REQUIRES: the engine's lock is held. The analysis cannot check it, because Impl is not complete
// in the header.
ErrorOr<Srq*> Adapter::AddSrq(memory::PdId pd, uint32_t capacity, uint32_t sges, EventQueue* events,
                              const XrcMembership& xrc,
                              const TagMatching& matching) VERBENA_NO_THREAD_SAFETY_ANALYSIS {
  memory::ProtectionDomains& domains = impl_->engine.memory.domains;
  if (domains.Find(pd) == nullptr) return Fail(InvalidError("no such protection domain"));
  Srq* const srq = impl_->srqs.Add(capacity, sges, pd, events, xrc, matching);
  if (srq == nullptr) {
    return Fail(LimitError(impl_->srqs.limit(), "shared receive queues", "srqs_max"));
  }
  domains.AddUser(pd);
  if (events != nullptr) ++events->users;
  return srq;
}

ErrorOr<Srq*> Adapter::CreateSrq(memory::PdId pd, uint32_t capacity, uint32_t sges,
                                 EventQueue* events) {
  if (const auto dead = Dead()) return Fail(*dead);
  if (const auto ok = CheckSrqSize(capacity, sges); !ok) return Fail(ok.error());
  const EngineLock lock(impl_->engine);
  return AddSrq(pd, capacity, sges, events);
}

ErrorOr<Srq*> Adapter::CreateXrcSrq(memory::PdId pd, XrcDomain& domain, Cq& cq, uint32_t capacity,
                                    uint32_t sges) {
  if (const auto dead = Dead()) return Fail(*dead);
  if (const auto ok = CheckSrqSize(capacity, sges); !ok) return Fail(ok.error());
  const EngineLock lock(impl_->engine);
  SrqNumber number;
  do {
    impl_->last_xrc_srq = impl_->last_xrc_srq % wire::kMax24 + 1;
    number = SrqNumber(impl_->last_xrc_srq);
  } while (domain.receivers.Find(number) != nullptr);
  domain.receivers.MakeRoom();
  const auto srq =
      AddSrq(pd, capacity, sges, cq.events(), {.domain = &domain, .cq = &cq, .number = number});
  if (!srq) return Fail(srq.error());
  domain.receivers.Add({.number = number, .queue = *srq, .cq = &cq, .pd = pd});
  ++cq.users;
  return *srq;
}

ErrorOr<Srq*> Adapter::CreateTagSrq(memory::PdId pd, Cq& cq, uint32_t capacity, uint32_t sges,
                                    uint32_t tags_max) {
  if (const auto dead = Dead()) return Fail(*dead);
  if (const auto ok = CheckSrqSize(capacity, sges); !ok) return Fail(ok.error());
  if (tags_max == 0)
    return Fail(InvalidError("a tag matching queue needs room for at least 1 tag, not 0"));
  const uint32_t limit = impl_->options.tags_max;
  if (tags_max > limit) return Fail(LimitError(limit, "tagged receives", "tags_max"));
  const EngineLock lock(impl_->engine);
  const auto srq = AddSrq(pd, capacity, sges, cq.events(), {}, {.tags_max = tags_max, .cq = &cq});
  if (srq) ++cq.users;
  return srq;
}

ErrorOr<TagHandle> Adapter::ChangeTags(Srq& srq, const TagOperation& operation) {
  if (const auto dead = Dead()) return Fail(*dead);
  if (srq.tags() == nullptr)
    return Fail(InvalidError("the shared receive queue was not created with tag matching"));
  const EngineLock lock(impl_->engine);
  const auto changed = impl_->engine.ChangeTags(srq, operation);
  if (changed) return *changed;
  if (changed.error() == queue::TagMatcher::AddError::kTooManySges) {
    return Fail(InvalidError("more scatter/gather elements than the queue was created with"));
  }
  return Fail(LimitError(srq.tags()->capacity(), "tagged receives of this queue", "tags_max"));
}

ErrorOr<void> Adapter::Destroy(Srq* srq) {
  if (const auto dead = Dead()) return Fail(*dead);
  const EngineLock lock(impl_->engine);
  if (srq->users > 0) return Fail(InUse("the shared receive queue"));
  const XrcMembership& xrc = srq->xrc();
  if (xrc.domain != nullptr) {
    impl_->engine.RemoveReceiver(*xrc.domain, *srq);
    --xrc.cq->users;
  }
  if (srq->tag_cq() != nullptr) --srq->tag_cq()->users;
  impl_->engine.memory.domains.DropUser(srq->pd());
  if (EventQueue* const events = srq->events()) {
    events->Forget([&](const Event& event) { return event.srq == srq; });
    --events->users;
  }
  impl_->srqs.Remove(srq);
  return {};
}

ErrorOr<XrcDomain*> Adapter::OpenXrcDomain() {
  if (const auto dead = Dead()) return Fail(*dead);
  const EngineLock lock(impl_->engine);
  XrcDomain* const domain = impl_->xrc_domains.Add();
  if (domain == nullptr) {
    return Fail(LimitError(impl_->xrc_domains.limit(), "XRC domains", "xrc_domains_max"));
  }
  return domain;
}

ErrorOr<void> Adapter::Destroy(XrcDomain* domain) {
  if (const auto dead = Dead()) return Fail(*dead);
  const EngineLock lock(impl_->engine);
  if (domain->is_used()) return Fail(InUse("the XRC domain"));
  impl_->xrc_domains.Remove(domain);
  return {};
}

ErrorOr<void> Adapter::Resize(Srq& srq, uint32_t capacity) {
  if (const auto dead = Dead()) return Fail(*dead);
  const uint32_t limit = impl_->options.queue_depth_max;
  if (capacity > limit) return Fail(LimitError(limit, "elements of a queue", "queue_depth_max"));
  const EngineLock lock(impl_->engine);
  if (!srq.Resize(capacity)) {
    return Fail(InvalidError("cannot shrink the shared receive queue to " +
                             std::to_string(capacity) +
                             " elements: more receives are posted or in progress"));
  }
  return {};
}

ErrorOr<void> Adapter::SetLimit(Srq& srq, uint32_t limit) {
  if (const auto dead = Dead()) return Fail(*dead);
  if (limit > srq.capacity()) {
    return Fail(InvalidError("a limit of " + std::to_string(limit) +
                             " is more than the capacity of " + std::to_string(srq.capacity()) +
                             " elements"));
  }
  srq.SetLimit(limit);
  return {};
}

}  // namespace verbena::adapter
