#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/time.h"
#include "memory/access.h"
#include "queue/completion_queue.h"
#include "queue/work_queue.h"
#include "transport/common/local_work.h"
#include "transport/common/placement.h"
#include "transport/common/step.h"
#include "transport/iwarp/send_buffer.h"

namespace verbena::transport {

// The attributes of a queue pair of plain bytes. They never change while it is connected.
struct StreamQpConfig {
  QpNumber local_qp = {};
  memory::Accessor who = {};  // protection domain and QP, for the tables
  RegistrationMode registration = RegistrationMode::kDisabled;
};

// The half of a queue pair of plain bytes that turns the elements of a send queue into bytes of a
// stream.
//
// The bytes are copied to the send buffer of the stream. A send is complete when TCP has taken all
// of them from there, so that the end of the stream cannot lose them. A send without bytes ends
// this direction of the stream: it is complete when TCP has that end as well, and no send may
// follow. An element that fails completes behind those before it.
//
//     begin           position            end of the queue
//   ----+---------------+------------------+
//       | in the buffer | not begun, or    |
//       | or with TCP   | begun (offset_)  |
//
// Owned by its queue pair; used by one thread at a time.
class ByteSender {
 public:
  ByteSender(const StreamQpConfig& config, queue::SendQueue& queue, queue::CompletionQueue& cq);

  void Configure(const StreamQpConfig& config) { config_ = config; }
  // The stream is connected. REQUIRES: no element is begun.
  void Start();

  // Copies as much as there is room for. Starts new elements only if `may_begin`.
  void Pump(SendBuffer& out, bool may_begin, Step& step);
  // Pump has stopped because the buffer was full.
  [[nodiscard]] bool wants_room() const { return wants_room_; }
  // Completes what is done. `unsent`: bytes that TCP has not taken.
  void CompleteDone(uint64_t unsent, Step& step);

  // All bytes were copied, and the program has ended this direction...
  [[nodiscard]] bool wants_end() const { return end_.has_value() && !end_is_sent_; }
  // ...and TCP has the end, too.
  void OnEndSent() { end_is_sent_ = true; }
  [[nodiscard]] bool end_is_sent() const { return end_is_sent_; }

  void OnPagesReady(FaultTicket ticket, bool available);
  // Must be called at next_time() or later.
  void OnTime(Step& step) {
    if (delayed_until_ <= step.now) delayed_until_ = Time::Never();
  }
  [[nodiscard]] Time next_time() const { return delayed_until_; }

  // Flushes all elements, because the queue pair is in error.
  void Flush(Step& step);

  // An element has failed: the queue pair must go to the error state.
  [[nodiscard]] bool has_failed() const { return has_failed_; }
  // A part of a send was copied, and the rest was not, or never will be.
  [[nodiscard]] bool is_mid_send() const { return is_cut_ || offset_ > 0; }
  // As in IwarpRequester.
  [[nodiscard]] bool TakeSqdFailure() { return std::exchange(had_sqd_failure_, false); }
  void FlushPosted(Step& step);

  // For the prefetcher.
  [[nodiscard]] queue::WqeNumber first_unsent() const { return position_; }
  [[nodiscard]] bool is_drained() const {
    return queue_.begin() == position_ && !is_begun_ && !failure_;
  }
  // Elements are copied and not complete.
  [[nodiscard]] bool has_incomplete() const { return queue_.begin() < position_; }
  [[nodiscard]] uint64_t page_waits() const { return page_waits_; }

  [[nodiscard]] bool IsConsistent() const;

 private:
  // Of the element at position_, which completes when those before it have.
  struct Failure {
    LocalOutcome outcome;
    bool is_registration = false;
  };

  bool Begin(Step& step);
  LocalOutcome CheckElement(queue::WqeNumber n) const;
  bool PutPiece(SendBuffer& out, Step& step);
  bool Fill(std::span<std::byte> piece, Step& step);
  void WaitFor(const memory::Fault& fault, Step& step);
  void EndElement();
  void CompleteFront(const LocalOutcome& outcome, Step& step);
  void CompleteFailed(Step& step);
  void FlushQueue(Step& step);
  void Abandon();
  uint64_t& EndOf(queue::WqeNumber n) { return ends_[n.value() & mask_]; }

  StreamQpConfig config_;
  queue::SendQueue& queue_;
  queue::CompletionQueue& cq_;
  LocalWork local_work_;
  std::vector<uint64_t> ends_;  // by element: the value of put_ behind its last byte
  uint64_t mask_;
  uint64_t put_ = 0;  // bytes that were copied since the stream was connected
  queue::WqeNumber position_;
  uint64_t offset_ = 0;    // in the element at position_
  bool is_begun_ = false;  // that element
  std::optional<Failure> failure_;
  std::optional<FaultTicket> wait_;      // for the pages of that element
  std::optional<queue::WqeNumber> end_;  // the element that ends this direction
  bool end_is_sent_ = false;
  bool wants_room_ = false;
  Time delayed_until_ = Time::Never();
  uint64_t tickets_ = 0;
  uint64_t page_waits_ = 0;
  uint8_t losses_ = 0;  // pages that the element has lost
  bool is_cut_ = false;
  bool has_failed_ = false;
  bool had_sqd_failure_ = false;
};

}  // namespace verbena::transport
