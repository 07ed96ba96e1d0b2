#pragma once

#include <infiniband/verbs.h>

#include <memory>
#include <span>

#include "rdmacm/rsocket/errno.h"

namespace verbena::rsockets {

// A completion queue with its own channel, whose descriptor becomes readable when a completion
// arrives after Arm. The owner's lock guards it.
class NotifiedCq {
 public:
  [[nodiscard]] static ErrnoOr<std::unique_ptr<NotifiedCq>> Make(ibv_context* context, int entries);
  NotifiedCq(const NotifiedCq&) = delete;
  NotifiedCq& operator=(const NotifiedCq&) = delete;
  // REQUIRES: no queue pair uses it.
  ~NotifiedCq();

  [[nodiscard]] ibv_cq* get() const { return cq_; }
  [[nodiscard]] ibv_comp_channel* channel() const { return channel_; }
  [[nodiscard]] int fd() const { return channel_->fd; }

  // Returns the completions, at the front of `completions`.
  [[nodiscard]] std::span<const ibv_wc> Poll(std::span<ibv_wc> completions);
  // After this, a completion makes the descriptor readable. Poll once afterwards, because
  // completions that arrived before may not do so.
  void Arm();
  // Takes the events that make the descriptor readable. Call Arm before the next sleep.
  void TakeEvents();

 private:
  NotifiedCq(ibv_comp_channel* channel, ibv_cq* cq) : channel_(channel), cq_(cq) {}

  ibv_comp_channel* const channel_;
  ibv_cq* const cq_;
  bool armed_ = false;
  bool polled_since_armed_ = false;  // so there is an event, or there will be
};

}  // namespace verbena::rsockets
