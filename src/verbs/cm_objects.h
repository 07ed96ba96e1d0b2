#pragma once

#include <memory>
#include <utility>

#include "adapter/control/adapter.h"
#include "base/mutex.h"
#include "verbs/objects.h"

// The objects behind the handles of the connection manager; see objects.h.

namespace verbena::verbs {

// A channel has no device until the first id uses it. After that a thread that waits on the channel
// makes progress for that device.
struct CmChannelObject {
  explicit CmChannelObject(EventFile file) : queue(std::move(file)) {}

  // nullptr before the first id.
  [[nodiscard]] std::shared_ptr<adapter::Adapter> device() VERBENA_EXCLUDES(mutex) {
    const MutexLock lock(mutex);
    return context == nullptr ? nullptr : context->device;
  }
  void Attach(const std::shared_ptr<ContextObject>& to) VERBENA_EXCLUDES(mutex) {
    const MutexLock lock(mutex);
    context = to;
  }

  adapter::CmEventQueue queue;
  Mutex mutex;
  std::shared_ptr<ContextObject> context VERBENA_GUARDED_BY(mutex);
};

struct CmIdObject {
  CmIdObject(std::shared_ptr<ContextObject> of, std::shared_ptr<CmChannelObject> to)
      : context(std::move(of)), device(*context->device), channel(std::move(to)) {
    channel->Attach(context);
  }
  CmIdObject(const CmIdObject&) = delete;
  CmIdObject& operator=(const CmIdObject&) = delete;
  ~CmIdObject() { EndQuietly(*this); }

  Ended End() {
    if (end == nullptr) return {};
    const Ended ended = device.Destroy(end);
    end = nullptr;
    return ended;
  }
  void MoveTo(std::shared_ptr<CmChannelObject> to) {
    to->Attach(context);
    channel = std::move(to);
  }

  const std::shared_ptr<ContextObject> context;
  adapter::Adapter& device;
  std::shared_ptr<CmChannelObject> channel;
  adapter::CmEnd* end = nullptr;
};

}  // namespace verbena::verbs
