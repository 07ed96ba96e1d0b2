#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/time.h"
#include "queue/completion_queue.h"
#include "queue/work_queue.h"
#include "transport/common/qp_state.h"
#include "transport/common/receive_source.h"
#include "transport/common/step.h"
#include "transport/iwarp/byte_receiver.h"
#include "transport/iwarp/byte_sender.h"
#include "transport/iwarp/iwarp_qp.h"
#include "transport/iwarp/send_buffer.h"
#include "wire/iwarp/types.h"

namespace verbena::transport {

// A queue pair of plain bytes (row B16): sends put bytes into a stream, receives take bytes from
// one. Inputs change its two halves; Run copies bytes to the send buffer, and must be called after
// every burst of inputs, whenever the send buffer has room again, and when TCP has taken bytes.
//
// Each direction of the stream ends on its own: see the two halves. When this side has ended its
// direction, and the peer's end was reported, the queue pair goes to error and closes
// the stream. After an error in the middle, the stream is to be reset, so that the peer does not
// take a part of the bytes for all of them.
//
// Owned by the adapter; used by one thread at a time.
class StreamQp {
 public:
  StreamQp(const StreamQpConfig& config, queue::SendQueue& send_queue, ReceiveSource receives,
           queue::CompletionQueue& send_cq, queue::CompletionQueue& receive_cq);
  StreamQp(const StreamQp&) = delete;
  StreamQp& operator=(const StreamQp&) = delete;

  [[nodiscard]] QpState state() const { return state_; }
  [[nodiscard]] bool is_draining() const {
    return state_ == QpState::kSqd && !sender_.is_drained();
  }
  void Configure(const StreamQpConfig& config);

  // As of IwarpQp.
  void Connect(SendBuffer& out);
  void Disconnect() { out_ = nullptr; }
  void Drain(bool notify = true);
  void ResumeSends();
  void BecomeFailed() { state_ = QpState::kErr; }

  // As of IwarpQp. Bytes ahead of the stream have no use here.
  [[nodiscard]] size_t OnBytes(wire::StreamOffset at, std::span<const std::byte> bytes, Step& step);
  [[nodiscard]] wire::StreamOffset next_byte() const { return next_; }
  // The peer has ended its direction in order, behind all bytes that were taken.
  void OnPeerEnd();
  // The stream is gone, or the program closes it. Bytes that TCP has not taken are lost.
  void OnStreamEnd();
  // Bytes that were not taken wait for pages or for a receive request...
  [[nodiscard]] bool is_waiting() const { return receiver_.is_waiting(); }
  // ...and would be taken now.
  [[nodiscard]] bool may_resume() const { return receiver_.may_resume(); }

  void OnPagesReady(FaultTicket ticket, bool available, Step& step);
  void OnTime(Step& step) { sender_.OnTime(step); }
  [[nodiscard]] Time next_time() const { return sender_.next_time(); }

  // True if it must be called again although no input arrives.
  bool Run(Step& step);
  [[nodiscard]] bool wants_room() const { return sender_.wants_room(); }
  // It must run when TCP has taken bytes.
  [[nodiscard]] bool awaits_taken() const { return sender_.has_incomplete(); }
  // This direction is to be ended behind all bytes of the send buffer.
  [[nodiscard]] bool wants_end() const { return state_ != QpState::kErr && sender_.wants_end(); }
  void OnEndSent() { sender_.OnEndSent(); }
  [[nodiscard]] StreamWish wish() const {
    return state_ == QpState::kErr ? StreamWish::kClose : StreamWish::kOpen;
  }
  // If it is closed now, the peer would miss a part of the bytes.
  [[nodiscard]] bool must_reset() const { return must_reset_ || sender_.is_mid_send(); }

  // For the prefetcher.
  [[nodiscard]] queue::WqeNumber first_unsent() const { return sender_.first_unsent(); }
  [[nodiscard]] bool TakeReceiveFault() { return receiver_.TakeReceiveFault(); }
  [[nodiscard]] static queue::SharedReceiveQueue* shared_receives() { return nullptr; }

  [[nodiscard]] uint64_t page_waits() const {
    return sender_.page_waits() + receiver_.page_waits();
  }
  [[nodiscard]] bool IsConsistent() const;

 private:
  void EndIfDone();
  void ReportDrained(Step& step);

  StreamQpConfig config_;
  QpState state_ = QpState::kInit;
  bool drain_was_reported_ = false;  // the event of the present drain was raised
  bool is_flushing_ = false;         // SQD after a registration that failed in reactive mode
  bool must_reset_ = false;
  ByteSender sender_;
  ByteReceiver receiver_;
  SendBuffer* out_ = nullptr;  // of the stream, while it is connected
  wire::StreamOffset next_;    // the byte that is taken next
};

}  // namespace verbena::transport
