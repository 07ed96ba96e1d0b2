#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/time.h"
#include "queue/completion_queue.h"
#include "queue/work_queue.h"
#include "transport/common/congestion_window.h"
#include "transport/common/local_work.h"
#include "transport/common/outbox.h"
#include "transport/common/rendezvous.h"
#include "transport/common/step.h"
#include "transport/rc/outstanding_requests.h"
#include "transport/rc/rc_config.h"
#include "transport/rc/retry_state.h"
#include "transport/rc/segment_probe.h"
#include "wire/roce/packet.h"
#include "wire/roce/syndrome.h"

namespace verbena::transport {

// The sending half of a reliable connection: turns the elements of a send queue into packets, and
// the peer's answers into completions.
//
//        unacked_             position_           sent_end_         next_psn_
//   done | sent, no answer yet | to be sent again  | started, unsent |
//   -----+---------------------+-------------------+-----------------+----->  PSN
//
// All that is lost is found again by going back: position_ moves to the packet that the peer lacks,
// and sending goes on from there. A read that was answered in part is asked for the rest only.
//
// Owned by its queue pair, which calls Pump after every input; one thread at a time.
class Requester {
 public:
  // `rendezvous` if there may be elements that the program did not post.
  Requester(const RcConfig& config, queue::SendQueue& queue, queue::CompletionQueue& cq,
            TagRendezvous* rendezvous = nullptr);

  // Takes effect with the next Start.
  void Configure(const RcConfig& config) { config_ = config; }
  // After a drain: with timers and retries as they were configured since, unless some are in use.
  void Resume();
  const RcConfig& config() const { return config_; }

  // The first packet will have this number. REQUIRES: nothing is under way.
  void Start(Psn first);

  // Sends what may be sent now, as far as the outbox has room, of which some is kept for others;
  // elements that are not begun only if they may be. True when there may be more for a new outbox.
  bool Pump(Step& step, bool may_begin, size_t held_room = 0);

  // An acknowledgement or a response has arrived for this queue pair.
  void OnResponse(const wire::Packet& packet, Step& step);

  // To be called at next_time(), or later.
  void OnTime(Step& step);
  Time next_time() const;

  // Pages that were asked for in the outbox are there, or are not to be had.
  void OnPagesReady(FaultTicket ticket, bool available, Step& step);

  // A packet that Pump has put into the outbox was not sent, because memory that it names is gone
  // (`is_loss`), or because it is behind such a one. The tables know; sending goes on from there
  // once the pages are there.
  void TakeBack(Psn psn, bool is_loss, Step& step);

  // All elements end as flushed: the queue pair is in error.
  void Flush(Step& step);

  // An element has ended in error: the queue pair must go to the error state.
  bool has_failed() const { return has_failed_; }
  // It was to register memory, and did not get as far as the wire.
  bool failed_to_register() const { return has_failed_ && failed_to_register_; }
  // A registration has failed in reactive mode, and all behind it is flushed: the send queue must
  // go to the drained state. True once for each.
  bool TakeSqdFailure() { return std::exchange(had_sqd_failure_, false); }
  // All that was posted since ends as flushed. REQUIRES: is_drained().
  void FlushPosted(Step& step);
  // Elements from here on are not sent yet, or not to their end.
  queue::WqeNumber first_unsent() const { return position_.wqe; }
  // Nothing is under way.
  bool is_drained() const { return outstanding_.empty(); }

  // What went wrong on the way, since the start.
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
    uint32_t packet = 0;  // of the element
  };
  // Waits for pages of our own memory: to send from, or to put the answer that has this number.
  struct Stall {
    FaultTicket ticket;
    Psn psn;
  };
  enum class SendOutcome : uint8_t { kSent, kPassed, kBlocked };
  // The responder of the same queue pair counts from 0: no ticket is taken for one of the other
  // half.
  static constexpr uint64_t kFirstTicket = 1;

  // requester.cc: sending
  bool MaySend() const;
  bool MayStart(const queue::SendWqe& wqe) const;
  bool StartNext(Step& step);
  LocalOutcome DoLocalPart(queue::WqeNumber n, Step& step);
  SendOutcome SendNext(Step& step);
  bool GatherPayload(Step& step, queue::WqeNumber n, uint64_t offset, uint32_t size,
                     OutPacket& packet);
  uint32_t AnswersToAskFor(const OutstandingRequest& outstanding, Psn psn) const;
  bool BuildPacket(Step& step, queue::WqeNumber n, const OutstandingRequest& outstanding, Psn psn,
                   uint32_t psns);
  std::optional<Stall> StallFor(const memory::Fault& fault, Psn psn, Step& step);
  bool MayLose(Psn psn, Step& step);
  bool is_delayed() const { return delayed_until_ != Time::Never(); }
  bool is_stalled() const { return gather_stall_.has_value() || scatter_stall_.has_value(); }
  uint32_t UnderWay(Psn psn) const { return (psn - unacked_.value()).value(); }

  // ack_handler.cc: answers
  void OnAcknowledge(wire::Syndrome syndrome, const wire::Packet& packet, Step& step);
  void OnReadResponse(const wire::Packet& packet, Step& step);
  void OnAtomicResponse(const wire::Packet& packet, Step& step);
  void OnHeldRead(const Step& step);
  bool IsBeforePartOfRead(Psn psn) const;
  bool AcknowledgeBefore(Psn psn, Step& step);
  void Advance(Psn unacked, Step& step);
  bool Scatter(Step& step, queue::WqeNumber n, uint64_t offset, std::span<const std::byte> bytes,
               Psn psn);
  void AnswerIsMissing(Psn psn, Step& step);
  void LostFrom(Psn psn, Step& step);
  void DroppedForPages(Psn psn, Step& step);
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
  Position position_;
  Psn next_psn_;  // of the element that is started next
  Psn unacked_;
  Psn sent_end_;
  RetryState retry_;
  CongestionWindow window_;
  SegmentProbe probe_;
  std::optional<Psn> recovering_;  // went back to here, and nothing came of it yet
  // Answers before this were dropped for lack of pages of our own, and are asked for again.
  std::optional<Psn> dropped_until_;
  std::optional<Stall> gather_stall_;
  std::optional<Stall> scatter_stall_;
  Time delayed_until_ = Time::Never();
  std::vector<memory::PhysicalAddress> page_list_;  // of a registration; kept for its capacity
  uint64_t next_ticket_ = kFirstTicket;
  uint32_t reads_under_way_ = 0;  // and atomics
  uint32_t since_ack_request_ = 0;
  bool is_blocked_ = false;  // an element failed; nothing behind it is started
  bool has_failed_ = false;
  bool had_sqd_failure_ = false;
  bool failed_to_register_ = false;
  Counters counters_;
};

}  // namespace verbena::transport
