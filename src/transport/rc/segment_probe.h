#pragma once

#include <cstdint>
#include <span>

#include "transport/common/outbox.h"
#include "transport/common/step.h"
#include "wire/roce/bth.h"
#include "wire/roce/types.h"

namespace verbena::transport {

// Observes packets that one half of a connection sent at once: whether they arrive, or arrive only
// when each is sent again as a single datagram. Observes one group at a time, as TCP samples
// round-trip times. Also implements the rule that a retransmission after a timeout uses single
// datagrams.
//
//             OnSent               OnAcknowledged
//     kIdle ---------> kWatching ------------------> kIdle, kArrived is reported
//       |                  | OnTimeout: nothing of the group was acknowledged
//       |                  v
//       | OnTimeout      kLost --OnAcknowledged--> kRecovering, kLost is reported
//       +-------------> kRecovering --OnAcknowledged: all that timed out--> kIdle
//
// A loss that the peer noticed (a NAK) says nothing about the group: later packets arrived.
//
// A value type; owned by the requester or the responder of a connection.
class SegmentProbe {
 public:
  [[nodiscard]] bool is_idle() const { return state_ == State::kIdle; }
  // Packets sent now leave as single datagrams.
  [[nodiscard]] bool is_single() const { return state_ >= State::kLost; }

  // These packets are sent at once.
  void OnSent(std::span<const OutPacket> packets) {
    if (!is_idle() || packets.size() < 2) return;
    state_ = State::kWatching;
    first_ = wire::Bth::Parse(packets.front().header)->psn;
    end_ = wire::Bth::Parse(packets.back().header)->psn + 1;
    packets_ = static_cast<uint32_t>(packets.size());
    bytes_ = static_cast<uint32_t>(packets.front().header_size) + packets.front().payload_size;
  }

  // No response arrived in time for `unacked`, nor for any packet from there to `sent_end`.
  void OnTimeout(Psn unacked, Psn sent_end) {
    const bool is_lost =
        state_ == State::kLost || (state_ == State::kWatching && unacked == first_);
    state_ = is_lost ? State::kLost : State::kRecovering;
    end_ = sent_end;
  }

  // A packet was lost, and the peer noticed.
  void OnNoticedLoss() {
    if (state_ == State::kWatching) state_ = State::kIdle;
  }

  // The peer has all packets before `unacked`, which has advanced.
  void OnAcknowledged(Psn unacked, PathId path, Step& step) {
    if (is_idle()) return;
    const bool is_over = !IsBefore(unacked, end_);
    if (state_ == State::kLost) {
      step.outbox.Report({path, packets_, bytes_, SegmentReport::Fate::kLost});
    } else if (state_ == State::kWatching && is_over && step.segments_in_doubt) {
      step.outbox.Report({path, packets_, bytes_, SegmentReport::Fate::kArrived});
    }
    if (is_over) {
      state_ = State::kIdle;
    } else if (state_ == State::kLost) {
      state_ = State::kRecovering;
    }
  }

 private:
  enum class State : uint8_t { kIdle, kWatching, kLost, kRecovering };

  State state_ = State::kIdle;
  uint32_t packets_ = 0;  // in the group
  uint32_t bytes_ = 0;    // in its first packet
  Psn first_;             // of the group
  Psn end_;               // of the group, or of the packets that timed out
};

}  // namespace verbena::transport
