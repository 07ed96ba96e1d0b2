#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/time.h"
#include "queue/completion_queue.h"
#include "queue/work_queue.h"
#include "transport/common/outbox.h"
#include "transport/common/qp_state.h"
#include "transport/common/receive_source.h"
#include "transport/common/step.h"
#include "transport/iwarp/early_frames.h"
#include "transport/iwarp/iwarp_config.h"
#include "transport/iwarp/iwarp_requester.h"
#include "transport/iwarp/iwarp_responder.h"
#include "transport/iwarp/mpa_receiver.h"
#include "transport/iwarp/mpa_sender.h"
#include "transport/iwarp/send_buffer.h"
#include "wire/iwarp/rdmap_terminate.h"

namespace verbena::transport {

// What an iWARP queue pair wants of its stream.
enum class StreamWish : uint8_t {
  kOpen,
  kClose,  // after all bytes of the send buffer were sent
};

// A queue pair of iWARP: its two halves, the framing of its stream, and their common state. Inputs
// change the halves; Run frames the resulting messages, and must be called after every burst of
// inputs and whenever the send buffer has room again.
//
// The stream below delivers bytes in order. It may also show bytes that arrived ahead of a gap
// (row B9), and delivers them again when the gap is closed. Bytes that meet absent pages are not
// taken: the stream keeps them, and its window closes.
//
// Before it is destroyed, it must be in error and run, so that it holds no key of memory. Owned by
// the adapter; used by one thread at a time.
class IwarpQp {
 public:
  IwarpQp(const IwarpConfig& config, queue::SendQueue& send_queue, ReceiveSource receives,
          queue::CompletionQueue& send_cq, queue::CompletionQueue& receive_cq);
  IwarpQp(const IwarpQp&) = delete;
  IwarpQp& operator=(const IwarpQp&) = delete;

  [[nodiscard]] QpState state() const { return state_; }
  [[nodiscard]] bool is_draining() const {
    return state_ == QpState::kSqd && !requester_.is_drained();
  }
  [[nodiscard]] const IwarpConfig& config() const { return requester_.config(); }

  // Sets attributes that became known after construction. Remote rights take effect at once, the
  // others when the stream is connected.
  void Configure(const IwarpConfig& config);

  // INIT -> RTS: its stream is in MPA's full operation phase. `out` must live until the queue pair
  // is disconnected or destroyed.
  void Connect(SendBuffer& out);
  // The stream is gone.
  void Disconnect() { out_.reset(); }
  // RTS -> SQD: no new element is started, and those that were started are finished. Then an event
  // is raised, if `notify`.
  void Drain(bool notify = true);
  // SQD -> RTS.
  void ResumeSends();
  // Any -> ERR. Elements that are posted, now or later, are flushed by the next Run.
  void BecomeFailed() { state_ = QpState::kErr; }

  // Bytes of the stream have arrived; `at` is their position, which counts records if the stream
  // has records. Returns how many bytes are taken:
  // the others must be given again, as they are now, and with the bytes behind them. Of bytes that
  // are ahead of the stream none are taken.
  [[nodiscard]] size_t OnBytes(wire::StreamOffset at, std::span<std::byte> bytes, Step& step);
  // The peer has closed the stream, or it broke.
  void OnStreamEnd();
  // Bytes that were not taken wait for pages.
  [[nodiscard]] bool is_waiting() const {
    return requester_.is_waiting() || responder_.is_waiting();
  }
  [[nodiscard]] bool may_resume() const { return !is_waiting(); }
  [[nodiscard]] wire::StreamOffset next_byte() const {
    return in_ ? in_->next() : wire::StreamOffset();
  }

  void OnPagesReady(FaultTicket ticket, bool available, Step& step);
  void OnTime(Step& step) { requester_.OnTime(step); }
  [[nodiscard]] Time next_time() const { return requester_.next_time(); }

  // Frames as much as the state and the room in the send buffer allow. True if it must be called
  // again although no input arrives.
  bool Run(Step& step);
  // The last Run stopped because the send buffer was full.
  [[nodiscard]] bool wants_room() const { return wants_room_; }
  [[nodiscard]] StreamWish wish() const {
    return state_ == QpState::kErr ? StreamWish::kClose : StreamWish::kOpen;
  }

  // Sends an empty frame or a message without bytes, as the set-up of the stream has agreed: it
  // tells the peer that this side is ready. (RFC 6581) REQUIRES: nothing was sent before.
  enum class Rtr : uint8_t { kEmptyFrame, kWrite };
  void SendReadyToReceive(Rtr how);
  // The peer has sent nothing since. It may not have noticed what came before it was ready itself:
  // sends a message without bytes, if no other one is being sent. False if the peer has answered.
  bool RepeatReady();
  // The peer has had time to become ready, and does not say it: no longer waits for its first
  // frame.
  void AssumePeerReady() { assumes_peer_ready_ = true; }

  // For the prefetcher.
  [[nodiscard]] queue::WqeNumber first_unsent() const { return requester_.first_unsent(); }
  [[nodiscard]] bool TakeReceiveFault() { return responder_.TakeReceiveFault(); }
  [[nodiscard]] queue::SharedReceiveQueue* shared_receives() const {
    return responder_.shared_receives();
  }

  struct Counters {
    uint64_t frames_sent = 0;
    uint64_t frames_received = 0;
    uint64_t frames_early = 0;   // placed ahead of the stream
    uint64_t bytes_dropped = 0;  // outside of the receive window
    uint64_t page_waits = 0;
  };
  [[nodiscard]] Counters counters() const;

  // Why this side has ended the stream; nullopt if it did not.
  [[nodiscard]] const std::optional<TerminateReason>& failure() const { return failure_; }
  // The Terminate messages that were sent and received.
  [[nodiscard]] const std::optional<wire::RdmapTerminate>& terminate_sent() const {
    return terminate_sent_;
  }
  [[nodiscard]] const std::optional<wire::RdmapTerminate>& terminate_received() const {
    return terminate_received_;
  }

  [[nodiscard]] bool IsConsistent() const;

 private:
  // The segment that is being delivered, for a Terminate message about it.
  struct Refused {
    SegmentKind kind = SegmentKind::kUntagged;
    uint16_t length = 0;
    wire::RdmapTerminate::Header header = {};
    std::optional<wire::RdmapReadRequest> read_request = {};
  };

  bool is_connected() const { return out_.has_value(); }
  // A half has failed, and the next Run ends the stream.
  bool is_failing() const { return requester_.has_failed() || responder_.failure().has_value(); }
  void OnEarlyBytes(wire::StreamOffset at, std::span<const std::byte> bytes, Step& step);
  void OnEarlyFrame(const InboundFrame& frame, Step& step);
  bool DeliverFrame(const InboundFrame& frame, Step& step);
  SegmentOutcome DeliverSegment(const InboundFrame& frame, Step& step);
  SegmentOutcome DeliverTagged(const wire::DdpTagged& header, std::span<const std::byte> payload,
                               const SegmentPlace& place, Step& step);
  SegmentOutcome DeliverUntagged(const wire::DdpUntagged& header,
                                 const wire::RdmapOpcodeInfo& opcode,
                                 std::span<const std::byte> body, const SegmentPlace& place,
                                 Step& step);
  SegmentOutcome OnTerminate(std::span<const std::byte> body, Step& step);
  static Refused RefusedOf(std::span<const std::byte> ulpdu);
  static Refused RefusedOf(const InboundRead& read);
  void Terminate(const TerminateReason& reason, const Refused& refused, Step& step);
  void TerminateLocally();
  void SendTerminate(const wire::RdmapTerminate& terminate);
  bool SendEmptyWrite();

  bool may_send() const {
    return is_connected() &&
           (has_received_ || assumes_peer_ready_ || !config().stream.waits_for_first);
  }
  void Pump(Step& step);
  FrameSent PumpOne(Step& step);
  void ReportDrained(Step& step);

  QpState state_ = QpState::kInit;
  bool has_received_ = false;  // a frame of the peer has arrived
  bool assumes_peer_ready_ = false;
  bool wants_room_ = false;          // in the send buffer
  bool responder_first_ = false;     // for the next message
  bool drain_was_reported_ = false;  // the event of the present drain was raised
  bool is_flushing_ = false;         // SQD after a registration that failed in reactive mode
  IwarpRequester requester_;
  IwarpResponder responder_;
  std::optional<MpaSender> out_;
  std::optional<MpaReceiver> in_;
  EarlyFrames early_;
  std::optional<TerminateReason> failure_;
  std::optional<wire::RdmapTerminate> terminate_sent_;
  std::optional<wire::RdmapTerminate> terminate_received_;
  Counters counters_;
};

}  // namespace verbena::transport
