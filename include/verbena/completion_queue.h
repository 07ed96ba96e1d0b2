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

// Where work requests end. A thread that polls an empty one makes the adapter's progress meanwhile.
//
// A program that wants to sleep calls RequestNotify, polls once more, and waits on the channel only
// if that found nothing; so no wake-up is lost.
class CompletionQueue : public Handle<verbs::CqObject> {
 public:
  // For `capacity` completions or more. It must have room for all that can be under way: a queue
  // that overflows is lost.
  [[nodiscard]] static ErrorOr<CompletionQueue> Create(const Context& context, size_t capacity,
                                                       const CompletionChannel* channel = nullptr);
  CompletionQueue() = default;

  // REFUSES while a queue pair uses it.
  [[nodiscard]] ErrorOr<void> Destroy();
  // REFUSES if there are more completions than that.
  [[nodiscard]] ErrorOr<void> Resize(size_t capacity);
  // An event waits for so many completions, or so long after the first.
  [[nodiscard]] ErrorOr<void> SetModeration(uint32_t count, std::chrono::nanoseconds period);

  [[nodiscard]] CqId id() const;
  [[nodiscard]] size_t capacity() const;

  // --- The data path: nothing is allocated, no call blocks. ---

  // Moves the oldest completions into `out`; how many.
  [[nodiscard]] CodeOr<size_t> Poll(std::span<Completion> out) const;
  // The same, one by one, while no other thread gets any. True if there is one, in `out`; then
  // NextPoll shows the one after, and EndPoll, by the same thread, removes those that were shown.
  // Unless StartPoll was true there is nothing to end.
  [[nodiscard]] CodeOr<bool> StartPoll(Completion& out) const;
  [[nodiscard]] bool NextPoll(Completion& out) const;
  void EndPoll() const;

  // An event on the channel at the next completion of this kind.
  [[nodiscard]] CodeOr<void> RequestNotify(Notify wanted = Notify::kAll) const;

 private:
  explicit CompletionQueue(std::shared_ptr<verbs::CqObject> object) : Handle(std::move(object)) {}
};

}  // namespace verbena
