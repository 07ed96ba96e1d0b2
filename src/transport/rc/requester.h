#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/time.h"
#include "queue/completion_queue.h"
#include "queue/work_queue.h"
#include "transport/common/congestion_window.h"
#include "transport/common/local_work.h"
#include "transport/common/outbox.h"
#include "transport/common/outstanding_requests.h"
#include "transport/common/rendezvous.h"
#include "transport/common/step.h"
#include "transport/rc/rc_config.h"
#include "transport/rc/retry_state.h"
#include "transport/rc/segment_probe.h"
#include "wire/roce/packet.h"
#include "wire/roce/syndrome.h"

namespace verbena::transport {

// The sending half of a reliable connection: turns the elements of a send queue into packets, and
// the peer's responses into completions.
class Requester {
 public:
  // `rendezvous` is given if there may be elements that the program did not post.
  Requester(const RcConfig& config, queue::SendQueue& queue, queue::CompletionQueue& cq,
            TagRendezvous* rendezvous = nullptr);

  // Takes effect at the next Start.
  void Configure(const RcConfig& config) { config_ = config; }
  // After a drain: uses the timers and retries that were configured since, except those in use.
  void Resume();
  const RcConfig& config() const { return config_; }

  // The first packet has this number. REQUIRES: no request is outstanding.
  void Start(Psn first);

  // Sends as much as is allowed now, and as the outbox has room for except `held_room`. Starts new
  // elements only if `may_begin`. True if there may be more to send in another outbox.
  bool Pump(Step& step, bool may_begin, size_t held_room = 0);

  // An acknowledgement or response for this queue pair has arrived.
  void OnResponse(const wire::Packet& packet, Step& step);

  // Must be called at next_time() or later.
  void OnTime(Step& step);
  Time next_time() const;

  // Pages requested in the outbox are present, or cannot be paged in.
  void OnPagesReady(FaultTicket ticket, bool available, Step& step);

  // A packet that Pump added to the outbox was not sent: because memory that it refers to is gone
  // (`is_loss`), or because an earlier packet was not sent. The page is marked absent in the
  // tables; sending continues here after the page-in.
  void TakeBack(Psn psn, bool is_loss, Step& step);

  // Flushes all elements, because the queue pair is in error.
  void Flush(Step& step);

  // An element has failed: the queue pair must go to the error state.
  bool has_failed() const { return has_failed_; }
  // The failed element was to register memory, and sent nothing.
  bool failed_to_register() const { return has_failed_ && failed_to_register_; }
  // A registration has failed in reactive mode, and all elements after it are flushed: the send
  // queue must go to SQD. True once per failure.
  bool TakeSqdFailure() { return std::exchange(had_sqd_failure_, false); }
  // Flushes all that was posted since. REQUIRES: is_drained().
  void FlushPosted(Step& step);
  // The elements from here on are not sent, or not completely.
  queue::WqeNumber first_unsent() const { return position_.wqe; }
  // No request is outstanding.
  bool is_drained() const { return outstanding_.empty(); }

  // Errors of the network since the start.
  struct Counters {
    uint64_t timeouts = 0;
    uint64_t sequence_naks = 0;
    uint64_t rnr_naks = 0;
    uint64_t lost_responses = 0;
    uint64_t page_waits = 0;
  };
  const Counters& counters() const { return counters_; }

  bool IsConsistent() const;

 private:
  struct Position {
    queue::WqeNumber wqe;
    uint32_t packet = 0;  // index in the element
  };
  // Waits for pages of this side's memory: for a payload, or for the response with this number.
  struct Stall {
    FaultTicket ticket;
    Psn psn;
  };
  enum class SendOutcome : uint8_t { kSent, kPassed, kBlocked };
  // The responder of the same queue pair counts from 0, so the tickets of the two halves differ.
  static constexpr uint64_t kFirstTicket = 1;

  // requester.cc: sending
  bool MaySend() const;
  bool MayStart(const queue::SendWqe& wqe) const;
  bool StartNext(Step& step);
  LocalOutcome DoLocalPart(queue::WqeNumber n, Step& step);
  SendOutcome SendNext(Step& step);
  bool GatherPayload(Step& step, queue::WqeNumber n, uint64_t offset, uint32_t size,
                     OutPacket& packet);
  uint32_t ReadWindow(const OutstandingRequest& outstanding, Psn psn) const;
  bool BuildPacket(Step& step, queue::WqeNumber n, const OutstandingRequest& outstanding, Psn psn,
                   uint32_t psns);
  std::optional<Stall> StallFor(const memory::Fault& fault, Psn psn, Step& step);
  bool MayLose(Psn psn, Step& step);
  bool is_delayed() const { return delayed_until_ != Time::Never(); }
  bool is_stalled() const { return gather_stall_.has_value() || scatter_stall_.has_value(); }
  uint32_t UnderWay(Psn psn) const { return (psn - unacked_.value()).value(); }

  // ack_handler.cc: responses
  void OnAcknowledge(wire::Syndrome syndrome, const wire::Packet& packet, Step& step);
  void OnReadResponse(const wire::Packet& packet, Step& step);
  void OnAtomicResponse(const wire::Packet& packet, Step& step);
  void OnHeldRead(const Step& step);
  bool IsBeforePartOfRead(Psn psn) const;
  bool AcknowledgeBefore(Psn psn, Step& step);
  void Advance(Psn unacked, Step& step);
  bool Scatter(Step& step, queue::WqeNumber n, uint64_t offset, std::span<const std::byte> bytes,
               Psn psn);
  void OnMissingResponse(Psn psn, Step& step);
  void RetransmitFrom(Psn psn, Step& step);
  void OnDroppedForPages(Psn psn, Step& step);
  void Rewind(Psn psn);
  void FailAt(Psn psn, CompletionStatus status, Step& step, VendorError vendor_error = 0);
  void CompleteDone(Step& step);
  void CompleteFailed(queue::WqeNumber n, const OutstandingRequest& outstanding, Step& step);
  bool IsFailedRegistration(queue::WqeNumber n, const OutstandingRequest& outstanding) const;
  void FlushQueue(Step& step);
  void CompleteInternal(queue::WqeNumber n, CompletionStatus status, uint32_t byte_count,
                        Step& step);
  void FailForLostCompletion(Step& step);
  void Complete(queue::WqeNumber n, CompletionStatus status, uint32_t byte_count, Step& step,
                VendorError vendor_error = 0);

  RcConfig config_;
  queue::SendQueue& queue_;
  queue::CompletionQueue& cq_;
  TagRendezvous* const rendezvous_;

  OutstandingRequests outstanding_;
  LocalWork local_work_;
  Position position_;
  Psn next_psn_;  // of the next element to be started
  Psn unacked_;
  Psn sent_end_;
  RetryState retry_;
  CongestionWindow window_;
  SegmentProbe probe_;
  std::optional<Psn> recovering_;  // a rewind to this PSN has made no progress yet
  // Responses before this PSN were dropped because pages of this side are absent, and are requested
  // again.
  std::optional<Psn> dropped_until_;
  std::optional<Stall> gather_stall_;
  std::optional<Stall> scatter_stall_;
  Time delayed_until_ = Time::Never();
  uint64_t next_ticket_ = kFirstTicket;
  uint32_t reads_under_way_ = 0;  // and atomics
  uint32_t since_ack_request_ = 0;
  bool is_blocked_ = false;  // an element failed; no element after it is started
  bool has_failed_ = false;
  bool had_sqd_failure_ = false;
  bool failed_to_register_ = false;
  Counters counters_;
};

}  // namespace verbena::transport
