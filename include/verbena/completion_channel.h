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

// Where a program waits for its completion queues without polling.
class CompletionChannel : public Handle<verbs::ChannelObject> {
 public:
  [[nodiscard]] static ErrorOr<CompletionChannel> Create(const Context& context);
  CompletionChannel() = default;

  // REFUSES while a completion queue uses it.
  [[nodiscard]] ErrorOr<void> Destroy();

  // Readable while there are events. The program may make it non-blocking.
  [[nodiscard]] int fd() const;

  // Takes the oldest event: of which queue. Waits for one, as the file says: nullopt if there is
  // none, if a signal's handler ran meanwhile, or if the queue is gone.
  [[nodiscard]] std::optional<CqId> Wait() const;

 private:
  explicit CompletionChannel(std::shared_ptr<verbs::ChannelObject> object)
      : Handle(std::move(object)) {}
};

}  // namespace verbena
