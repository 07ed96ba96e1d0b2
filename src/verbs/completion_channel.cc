#include "verbena/completion_channel.h"

#include "verbs/convert.h"
#include "verbs/objects.h"
#include "verbs/thrown.h"

namespace verbena {

ErrorOr<CompletionChannel> CompletionChannel::Create(const Context& context) try {
  if (!context) return Fail(verbs::Empty("context"));
  const std::shared_ptr<verbs::ContextObject>& on = context.object()->context;
  adapter::Adapter& device = *on->device;
  auto object = std::make_shared<verbs::ChannelObject>(on, device);
  const auto channel = device.CreateChannel();
  if (!channel) return Fail(channel.error());
  object->thing = *channel;
  return CompletionChannel(std::move(object));
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> CompletionChannel::Destroy() try {
  auto ended = verbs::EndNow(object(), "completion channel");
  if (ended) Reset();
  return ended;
} catch (...) {
  return Fail(verbs::Thrown());
}

int CompletionChannel::fd() const { return object() ? object()->thing->fd() : -1; }

std::optional<CqId> CompletionChannel::Wait() const {
  if (!object() || object()->device.is_forked()) return std::nullopt;
  const adapter::Cq* const cq = object()->device.Wait(*object()->thing);
  if (cq == nullptr) return std::nullopt;
  return verbs::IdOf(cq);
}

}  // namespace verbena
