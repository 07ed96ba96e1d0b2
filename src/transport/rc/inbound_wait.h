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

// The wait of a responder for the pages of the expected packet. There is one at most: later packets
// are dropped, and the requester retransmits them.
//
//   kNone      --Begin-------->  kRequested  the pages are requested and the packet is held; the
//                                            requester may get an RNR NAK and retransmit it
//   kRequested --Resume------->  kResumed    the pages are present, and the held packet is executed
//                                            again
//   kResumed   --RequestAgain->  kRequested  some pages are absent again: the packet goes on
//   waiting any        --End---------->  kNone
//
// The RNR NAK can be delayed: see Responder::HoldTime. Owned by a responder.
class InboundWait {
 public:
  enum class State : uint8_t { kNone, kRequested, kResumed };

  // After this, Hold allocates no memory for packets of up to this size.
  void Reserve(size_t packet_size) { held_.Reserve(packet_size); }

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool is_active() const { return state_ != State::kNone; }
  [[nodiscard]] bool IsFor(FaultTicket ticket) const {
    return state_ == State::kRequested && ticket_ == ticket;
  }

  // The expected packet has met absent pages. `otherwise`: the error if they cannot be paged in.
  // REQUIRES: !is_active().
  void Begin(FaultTicket ticket, ResponderError otherwise, Time now) {
    DCHECK(!is_active());
    state_ = State::kRequested;
    ticket_ = ticket;
    otherwise_ = otherwise;
    since_ = now;
    repeats_ = naks_ = 0;
    has_dropped_ = nak_was_sent_ = false;
  }
  // The requester has retransmitted the packet before its pages were present: it needs another NAK.
  void Repeat() {
    DCHECK(state_ == State::kRequested);
    ++repeats_;
    nak_was_sent_ = false;
  }
  // The pages are present. `nak_was_sent`: the requester has got an RNR NAK, and will retransmit
  // the packet when its timer ends.
  void Resume(bool nak_was_sent) {
    DCHECK(state_ == State::kRequested);
    state_ = State::kResumed;
    nak_was_sent_ = nak_was_sent;
  }
  void RequestAgain(FaultTicket ticket) {
    DCHECK(state_ == State::kResumed);
    state_ = State::kRequested;
    ticket_ = ticket;
  }
  // The packet was executed, or refused for a reason other than absent pages.
  void End() { state_ = State::kNone; }

  // The packet that is executed when its pages are present.
  void Hold(const wire::Packet& packet) { held_.Hold(packet); }
  [[nodiscard]] std::optional<wire::Packet> held() const { return held_.packet(); }
  void DropHeld() { held_.Drop(); }

  // A packet after the expected one was dropped.
  void NoteDropped() { has_dropped_ = true; }
  [[nodiscard]] bool has_dropped() const { return has_dropped_; }

  // REQUIRES: is_active(), or the wait has just ended.
  [[nodiscard]] ResponderError otherwise() const { return otherwise_; }
  [[nodiscard]] Time since() const { return since_; }
  [[nodiscard]] uint32_t repeats() const { return repeats_; }
  [[nodiscard]] bool nak_was_sent() const { return nak_was_sent_; }

  // NAKs that were or are about to be sent in this wait, and until when the next one is delayed.
  [[nodiscard]] uint32_t naks() const { return naks_; }
  void CountNak() { ++naks_; }
  [[nodiscard]] bool nak_is_held() const { return nak_held_until_ != Time::Never(); }
  [[nodiscard]] Time nak_held_until() const { return nak_held_until_; }
  void HoldNak(Time until) { nak_held_until_ = until; }
  void ReleaseNak() { nak_held_until_ = Time::Never(); }

 private:
  State state_ = State::kNone;
  ResponderError otherwise_ = {};
  bool has_dropped_ = false;   // packets after the held one
  bool nak_was_sent_ = false;  // a NAK was sent since the packet last arrived
  uint32_t repeats_ = 0;
  uint32_t naks_ = 0;
  FaultTicket ticket_;
  Time since_;
  Time nak_held_until_ = Time::Never();
  WaitingPacket held_;
};

}  // namespace verbena::transport
