#include "verbena/shared_receive_queue.h"

#include "verbs/convert.h"
#include "verbs/objects.h"
#include "verbs/receive.h"
#include "verbs/thrown.h"

namespace verbena {

ErrorOr<SharedReceiveQueue> SharedReceiveQueue::Create(const ProtectionDomain& domain,
                                                       uint32_t capacity, uint32_t sges_max) try {
  if (!domain) return Fail(verbs::Empty("protection domain"));
  verbs::PdObject& pd = *domain.object();
  auto object = std::make_shared<verbs::SrqObject>(domain.object(), verbs::XrcOwners{});
  const auto srq = pd.device.CreateSrq(pd.id, capacity, sges_max, pd.context->events);
  if (!srq) return Fail(srq.error());
  object->thing = *srq;
  return SharedReceiveQueue(std::move(object));
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<SharedReceiveQueue> SharedReceiveQueue::CreateXrc(const ProtectionDomain& domain,
                                                          const XrcDomain& xrc,
                                                          const CompletionQueue& cq,
                                                          uint32_t capacity,
                                                          uint32_t sges_max) try {
  if (!domain) return Fail(verbs::Empty("protection domain"));
  if (!xrc) return Fail(verbs::Empty("XRC domain"));
  if (!cq) return Fail(verbs::Empty("completion queue"));
  verbs::PdObject& pd = *domain.object();
  if (xrc.object()->base != pd.context || cq.object()->base != pd.context) {
    return Fail(
        verbs::Invalid("the XRC domain or the completion queue belongs to another context"));
  }
  auto object = std::make_shared<verbs::SrqObject>(
      domain.object(), verbs::XrcOwners{.xrc = xrc.object(), .cq = cq.object()});
  const auto srq =
      pd.device.CreateXrcSrq(pd.id, *xrc.object()->thing, *cq.object()->thing, capacity, sges_max);
  if (!srq) return Fail(srq.error());
  object->thing = *srq;
  return SharedReceiveQueue(std::move(object));
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<SharedReceiveQueue> SharedReceiveQueue::CreateTagMatching(const ProtectionDomain& domain,
                                                                  const CompletionQueue& cq,
                                                                  uint32_t capacity,
                                                                  uint32_t sges_max,
                                                                  uint32_t tags_max) try {
  if (!domain) return Fail(verbs::Empty("protection domain"));
  if (!cq) return Fail(verbs::Empty("completion queue"));
  verbs::PdObject& pd = *domain.object();
  if (cq.object()->base != pd.context) {
    return Fail(verbs::Invalid("the completion queue belongs to another context"));
  }
  auto object = std::make_shared<verbs::SrqObject>(
      domain.object(), verbs::XrcOwners{.xrc = nullptr, .cq = cq.object()});
  const auto srq = pd.device.CreateTagSrq(pd.id, *cq.object()->thing, capacity, sges_max, tags_max);
  if (!srq) return Fail(srq.error());
  object->thing = *srq;
  return SharedReceiveQueue(std::move(object));
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> SharedReceiveQueue::Destroy() try {
  auto ended = verbs::EndNow(object(), "shared receive queue");
  if (ended) Reset();
  return ended;
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> SharedReceiveQueue::Resize(uint32_t capacity) try {
  if (!object()) return Fail(verbs::Empty("shared receive queue"));
  if (capacity == 0)
    return Fail(verbs::Invalid("the capacity of a shared receive queue must be at least 1"));
  return object()->device.Resize(*object()->thing, capacity);
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> SharedReceiveQueue::SetLimit(uint32_t limit) try {
  if (!object()) return Fail(verbs::Empty("shared receive queue"));
  return object()->device.SetLimit(*object()->thing, limit);
} catch (...) {
  return Fail(verbs::Thrown());
}

SrqId SharedReceiveQueue::id() const { return verbs::IdOf(object() ? object()->thing : nullptr); }
SrqNumber SharedReceiveQueue::number() const {
  return object() ? object()->thing->xrc().number : SrqNumber{};
}
uint32_t SharedReceiveQueue::capacity() const { return object() ? object()->thing->capacity() : 0; }
uint32_t SharedReceiveQueue::limit() const { return object() ? object()->thing->limit() : 0; }

PostResult SharedReceiveQueue::Post(const Receive& request) const {
  return verbs::PostReceive(object().get(), request);
}

ChainResult SharedReceiveQueue::PostChain(std::span<const Receive> requests) const {
  return verbs::PostReceives(object().get(), requests);
}

CodeOr<TagHandle> SharedReceiveQueue::ChangeTags(const TagOperation& operation) const try {
  if (!object() || operation.kind > TagOperation::Kind::kSynchronize) {
    return Fail(ErrorCode::kInvalid);
  }
  const auto changed = object()->device.ChangeTags(*object()->thing, operation);
  if (!changed) return Fail(changed.error().code);
  return *changed;
} catch (...) {
  return Fail(verbs::Thrown().code);
}

}  // namespace verbena
