#include "rdmacm/objects/event_channel.h"

#include <utility>

#include "base/result.h"

namespace verbena::rdmacm {

ErrorOr<std::unique_ptr<EventChannel>> EventChannel::Create() {
  auto channel = std::make_unique<EventChannel>();
  auto made = CmChannel::Create();
  if (!made) return Fail(made.error());
  channel->handle = std::make_shared<CmChannel>(std::move(*made));
  channel->fd = channel->handle->fd();
  return channel;
}

}  // namespace verbena::rdmacm
