#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "verbena/completion.h"
#include "verbena/completion_channel.h"
#include "verbena/context.h"
#include "verbena/error.h"
#include "verbena/handle.h"
#include "verbena/numbers.h"

namespace verbena {

namespace verbs {
struct CqObject;
}

// Which completions RequestNotify waits for.
enum class Notify : uint8_t { kSolicited = 1, kAll = 2 };

// Holds the completions of work requests until the program polls them. A thread that polls an empty
// queue makes the adapter's progress meanwhile.
//
// A program that wants to sleep calls RequestNotify, polls once more, and waits on the channel only
// if that poll found nothing. So no wake-up is lost.
class CompletionQueue : public Handle<verbs::CqObject> {
 public:
  // Has room for at least `capacity` completions. That must cover all requests that can be
  // outstanding: a queue that overflows cannot be used any more (ErrorCode::kOverflow).
  [[nodiscard]] static ErrorOr<CompletionQueue> Create(const Context& context, size_t capacity,
                                                       const CompletionChannel* channel = nullptr);
  CompletionQueue() = default;

  // REFUSES while a queue pair or a shared receive queue uses the completion queue.
  [[nodiscard]] ErrorOr<void> Destroy();
  // REFUSES if more than `capacity` completions are waiting.
  [[nodiscard]] ErrorOr<void> Resize(size_t capacity);
  // An event is raised after `count` completions, or `period` after the first of them.
  [[nodiscard]] ErrorOr<void> SetModeration(uint32_t count, std::chrono::nanoseconds period);

  [[nodiscard]] CqId id() const;
  [[nodiscard]] size_t capacity() const;

  // --- The data path: nothing is allocated, no call blocks. ---

  // Moves the oldest completions into `out` and returns their number, 0 if the queue is empty.
  [[nodiscard]] CodeOr<size_t> Poll(std::span<Completion> out) const;
  // The same one by one, while other threads that poll this queue wait. StartPoll is true if there
  // is a completion, which it copies to `out`. Then NextPoll copies the next ones, and EndPoll, on
  // the same thread, removes those that were copied. After a StartPoll that was not true, call
  // neither.
  [[nodiscard]] CodeOr<bool> StartPoll(Completion& out) const;
  [[nodiscard]] bool NextPoll(Completion& out) const;
  void EndPoll() const;

  // Raises one event on the channel at the next completion of this kind.
  [[nodiscard]] CodeOr<void> RequestNotify(Notify wanted = Notify::kAll) const;

 private:
  explicit CompletionQueue(std::shared_ptr<verbs::CqObject> object) : Handle(std::move(object)) {}
};

}  // namespace verbena
