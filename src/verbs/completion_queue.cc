#include "verbena/completion_queue.h"

#include "verbs/convert.h"
#include "verbs/objects.h"
#include "verbs/thrown.h"

namespace verbena {

ErrorOr<CompletionQueue> CompletionQueue::Create(const Context& context, size_t capacity,
                                                 const CompletionChannel* channel) try {
  if (!context) return Fail(verbs::Empty("context"));
  const std::shared_ptr<verbs::ContextObject>& on = context.object()->context;
  std::shared_ptr<verbs::ChannelObject> with;
  if (channel != nullptr) {
    if (!*channel) return Fail(verbs::Empty("completion channel"));
    with = channel->object();
    if (with->base != on) {
      return Fail(verbs::Invalid("the completion channel belongs to another context"));
    }
  }
  auto object = std::make_shared<verbs::CqObject>(on, with);
  const auto cq =
      on->device->CreateCq(capacity, with != nullptr ? with->thing : nullptr, on->events);
  if (!cq) return Fail(cq.error());
  object->thing = *cq;
  return CompletionQueue(std::move(object));
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> CompletionQueue::Destroy() try {
  auto ended = verbs::EndNow(object(), "completion queue");
  if (ended) Reset();
  return ended;
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> CompletionQueue::Resize(size_t capacity) try {
  if (!object()) return Fail(verbs::Empty("completion queue"));
  return object()->device.Resize(*object()->thing, capacity);
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> CompletionQueue::SetModeration(uint32_t count, std::chrono::nanoseconds period) try {
  if (!object()) return Fail(verbs::Empty("completion queue"));
  if (period.count() < 0) return Fail(verbs::Invalid("moderation period must not be negative"));
  return object()->device.SetModeration(*object()->thing, count, DurationOf(period));
} catch (...) {
  return Fail(verbs::Thrown());
}

CqId CompletionQueue::id() const { return verbs::IdOf(object() ? object()->thing : nullptr); }

size_t CompletionQueue::capacity() const { return object() ? object()->thing->capacity() : 0; }

CodeOr<size_t> CompletionQueue::Poll(std::span<Completion> out) const {
  if (!object()) return Fail(ErrorCode::kInvalid);
  if (object()->device.is_forked()) return Fail(ErrorCode::kForked);
  const auto count = object()->device.Poll(*object()->thing, out);
  if (!count) return Fail(ErrorCode::kOverflow);
  return *count;
}

CodeOr<bool> CompletionQueue::StartPoll(Completion& out) const {
  if (!object()) return Fail(ErrorCode::kInvalid);
  if (object()->device.is_forked()) return Fail(ErrorCode::kForked);
  auto first = object()->thing->StartPoll();
  if (first && *first == nullptr) {
    object()->device.Progress(*object()->thing);
    first = object()->thing->StartPoll();
  }
  if (!first) return Fail(ErrorCode::kOverflow);
  if (*first == nullptr) return false;
  out = **first;
  return true;
}

bool CompletionQueue::NextPoll(Completion& out) const {
  const Completion* const next = object() ? object()->thing->NextPoll() : nullptr;
  if (next == nullptr) return false;
  out = *next;
  return true;
}

void CompletionQueue::EndPoll() const {
  if (object()) object()->thing->EndPoll();
}

CodeOr<void> CompletionQueue::RequestNotify(Notify wanted) const {
  if (!object()) return Fail(ErrorCode::kInvalid);
  if (object()->device.is_forked()) return Fail(ErrorCode::kForked);
  if (object()->channel == nullptr) return Fail(ErrorCode::kInvalid);
  object()->device.RequestNotify(*object()->thing, wanted == Notify::kSolicited
                                                       ? queue::CompletionQueue::Wanted::kSolicited
                                                       : queue::CompletionQueue::Wanted::kAll);
  return {};
}

}  // namespace verbena
