#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "verbena/context.h"
#include "verbena/error.h"
#include "verbena/handle.h"
#include "verbena/numbers.h"

namespace verbena {

namespace verbs {
struct ChannelObject;
}

// Lets a program sleep until one of several completion queues has a completion.
class CompletionChannel : public Handle<verbs::ChannelObject> {
 public:
  [[nodiscard]] static ErrorOr<CompletionChannel> Create(const Context& context);
  CompletionChannel() = default;

  // REFUSES while a completion queue uses the channel, or a thread waits on it.
  [[nodiscard]] ErrorOr<void> Destroy();

  // Readable while there are events. The program may set O_NONBLOCK.
  [[nodiscard]] int fd() const;

  // Takes the oldest event and returns its completion queue. Waits for an event unless fd() is
  // non-blocking. nullopt if there is none (EAGAIN), if a signal handler ran (EINTR), or, with
  // errno unchanged, if the queue was destroyed or this is a forked child.
  [[nodiscard]] std::optional<CqId> Wait() const;

 private:
  explicit CompletionChannel(std::shared_ptr<verbs::ChannelObject> object)
      : Handle(std::move(object)) {}
};

}  // namespace verbena
