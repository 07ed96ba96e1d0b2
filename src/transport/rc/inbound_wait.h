#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/check.h"
#include "base/time.h"
#include "transport/common/outbox.h"
#include "transport/common/verdict.h"
#include "transport/rc/waiting_packet.h"
#include "wire/roce/packet.h"

namespace verbena::transport {

// The wait of a responder for the pages of the packet that it expects. There is one at most: what
// is behind the packet is dropped, and comes again.
//
//   kNone    --Begin--->  kAsked    the pages are asked for; the packet is held, may come again,
//   and
//                                   its sender may be told to wait
//   kAsked   --Resume-->  kResumed  the pages are there, and the packet is executed once more
//   kResumed --AskAgain-> kAsked    some have gone again, and it goes on waiting
//   any      --End----->  kNone
//
// The NAK that tells the sender may be held back for a while: see Responder::HoldTime.
// Owned by a responder.
class InboundWait {
 public:
  enum class State : uint8_t { kNone, kAsked, kResumed };

  // So that to keep a packet of up to this size allocates nothing.
  void Reserve(size_t packet_size) { held_.Reserve(packet_size); }

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool is_active() const { return state_ != State::kNone; }
  [[nodiscard]] bool IsFor(FaultTicket ticket) const {
    return state_ == State::kAsked && ticket_ == ticket;
  }

  // The expected packet has met absent pages. `otherwise`: what it is refused for if they are not
  // to be had. REQUIRES: none waits.
  void Begin(FaultTicket ticket, ResponderError otherwise, Time now) {
    DCHECK(!is_active());
    state_ = State::kAsked;
    ticket_ = ticket;
    otherwise_ = otherwise;
    since_ = now;
    repeats_ = naks_ = 0;
    has_dropped_ = sender_is_told_ = false;
  }
  // It has come again before its pages: its sender is to be told once more.
  void Repeat() {
    DCHECK(state_ == State::kAsked);
    ++repeats_;
    sender_is_told_ = false;
  }
  // The pages are there. `sender_is_told`: it has got a NAK, and comes again by itself.
  void Resume(bool sender_is_told) {
    DCHECK(state_ == State::kAsked);
    state_ = State::kResumed;
    sender_is_told_ = sender_is_told;
  }
  void AskAgain(FaultTicket ticket) {
    DCHECK(state_ == State::kResumed);
    state_ = State::kAsked;
    ticket_ = ticket;
  }
  // The packet was executed, or refused for another reason.
  void End() { state_ = State::kNone; }

  // The packet, which is executed again when its pages are there.
  void Hold(const wire::Packet& packet) { held_.Hold(packet); }
  [[nodiscard]] std::optional<wire::Packet> held() const { return held_.packet(); }
  void DropHeld() { held_.Drop(); }

  // A packet behind the expected one was dropped.
  void NoteDropped() { has_dropped_ = true; }
  [[nodiscard]] bool has_dropped() const { return has_dropped_; }

  // REQUIRES: is_active(), or it has just ended.
  [[nodiscard]] ResponderError otherwise() const { return otherwise_; }
  [[nodiscard]] Time since() const { return since_; }
  [[nodiscard]] uint32_t repeats() const { return repeats_; }
  [[nodiscard]] bool sender_is_told() const { return sender_is_told_; }

  // NAKs that its sender has got, or is about to get, and until when the next one is held back.
  [[nodiscard]] uint32_t naks() const { return naks_; }
  void CountNak() { ++naks_; }
  [[nodiscard]] bool nak_is_held() const { return nak_held_until_ != Time::Never(); }
  [[nodiscard]] Time nak_held_until() const { return nak_held_until_; }
  void HoldNak(Time until) { nak_held_until_ = until; }
  void ReleaseNak() { nak_held_until_ = Time::Never(); }

 private:
  State state_ = State::kNone;
  ResponderError otherwise_ = {};
  bool has_dropped_ = false;     // packets behind it
  bool sender_is_told_ = false;  // since it sent it last
  uint32_t repeats_ = 0;
  uint32_t naks_ = 0;
  FaultTicket ticket_;
  Time since_;
  Time nak_held_until_ = Time::Never();
  WaitingPacket held_;
};

}  // namespace verbena::transport
