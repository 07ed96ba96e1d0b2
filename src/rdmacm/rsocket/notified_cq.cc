#include "rdmacm/rsocket/notified_cq.h"

#include <fcntl.h>

namespace verbena::rsockets {

ErrnoOr<std::unique_ptr<NotifiedCq>> NotifiedCq::Make(ibv_context* context, int entries) {
  ibv_comp_channel* const channel = ibv_create_comp_channel(context);
  if (channel == nullptr) return Fail(LastErrno());
  ibv_cq* const cq = ibv_create_cq(context, entries, nullptr, channel, 0);
  if (cq == nullptr) {
    const Errno error = LastErrno();
    ibv_destroy_comp_channel(channel);
    return Fail(error);
  }
  fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
  return std::unique_ptr<NotifiedCq>(new NotifiedCq(channel, cq));
}

NotifiedCq::~NotifiedCq() {
  ibv_destroy_cq(cq_);
  ibv_destroy_comp_channel(channel_);
}

std::span<const ibv_wc> NotifiedCq::Poll(std::span<ibv_wc> completions) {
  const int count = ibv_poll_cq(cq_, static_cast<int>(completions.size()), completions.data());
  if (count <= 0) return {};
  polled_since_armed_ = true;
  return completions.first(static_cast<std::size_t>(count));
}

void NotifiedCq::Arm() {
  if (armed_ && polled_since_armed_) TakeEvents();
  if (armed_) return;
  armed_ = ibv_req_notify_cq(cq_, 0) == 0;
  polled_since_armed_ = false;
}

void NotifiedCq::TakeEvents() {
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  // Each Arm causes one event.
  if (ibv_get_cq_event(channel_, &cq, &context) != 0) return;
  ibv_ack_cq_events(cq, 1);
  armed_ = false;
}

}  // namespace verbena::rsockets
