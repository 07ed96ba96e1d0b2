// Event channels, and their events.

#include "rdmacm/objects/event_channel.h"

#include <cxxabi.h>
#include <rdma/rdma_cma.h>

#include <atomic>
#include <cerrno>
#include <memory>

#include "rdmacm/failure.h"
#include "rdmacm/objects/reported_event.h"

using namespace verbena::rdmacm;  // NOLINT(google-build-using-namespace): the calls are global

rdma_event_channel* rdma_create_event_channel() try {
  auto channel = EventChannel::Create();
  if (channel) return channel->release();
  static_cast<void>(Failed("rdma_create_event_channel", channel.error()));
  return nullptr;
} catch (...) {
  static_cast<void>(Thrown("rdma_create_event_channel"));
  return nullptr;
}

void rdma_destroy_event_channel(rdma_event_channel* channel) try {
  // A thread of the program may be about to wait again (that of rping, while the process ends). So
  // the channel that was destroyed last stays until the next one is.
  static std::atomic<EventChannel*> last = nullptr;
  if (channel != nullptr) delete last.exchange(&Cast(channel));
} catch (...) {
  static_cast<void>(Thrown("rdma_destroy_event_channel"));
}

int rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) try {
  if (channel == nullptr || event == nullptr) return MinusOne(EINVAL);
  if (Cast(channel).is_forked()) {
    return Failed("rdma_get_cm_event",
                  {verbena::ErrorCode::kForked, "the channel belongs to the parent process"});
  }
  const std::shared_ptr<verbena::CmChannel> handle = Cast(channel).handle;
  while (true) {
    // If there is no event, Wait leaves the reason in errno; 0 if the event was dropped meanwhile.
    errno = 0;
    const auto taken = handle->Wait();
    if (!taken && errno != 0) return -1;
    auto translated = taken ? Translate(*taken) : nullptr;
    if (translated == nullptr) continue;
    *event = translated.release();
    return 0;
  }
} catch (abi::__forced_unwind&) {
  throw;  // pthread_cancel of a thread in the wait
} catch (...) {
  return MinusOne(Thrown("rdma_get_cm_event"));
}

int rdma_ack_cm_event(rdma_cm_event* event) {
  if (event == nullptr) return MinusOne(EINVAL);
  delete &Cast(event);
  return 0;
}
