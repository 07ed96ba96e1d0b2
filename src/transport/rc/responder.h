#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "memory/memory_core.h"
#include "queue/completion_queue.h"
#include "transport/common/outbox.h"
#include "transport/common/placement.h"
#include "transport/common/receive_slot.h"
#include "transport/common/receive_source.h"
#include "transport/common/responder_checks.h"
#include "transport/common/step.h"
#include "transport/common/verdict.h"
#include "transport/rc/inbound_wait.h"
#include "transport/rc/rc_config.h"
#include "transport/rc/replay_cache.h"
#include "transport/rc/segment_probe.h"
#include "transport/xrc/xrc_domain.h"
#include "wire/roce/packet.h"
#include "wire/roce/syndrome.h"
#include "wire/roce/types.h"

namespace verbena::transport {

// The receiving half of a reliable connection: executes the peer's requests, and answers them.
//
//   OnRequest: PSN -> opcode sequence -> allowed -> resources -> length -> key -> execute
//                |                                                                  |
//            duplicate: answer again                     acknowledgement, reply, completion due
//   Pump: replies in the order of the requests, then the NAK, then the acknowledgement
//
// An acknowledgement covers all before it (IBA 9.7.5.1.2), so there is one at most to be sent, and
// none may overtake a reply. A NAK that is not about sequence or readiness is the last word: the
// responder sends what it owed before it, then that, and takes nothing more.
//
// Absent pages. A send, write or atomic that meets them is answered with an RNR NAK, and kept;
// those behind it are dropped without a word. Once the pages are there it is executed, and an
// acknowledgement, asked for or not, says that the peer may go on behind it. The NAK is marked
// (fault_mark.h), and its timer is neither shorter than the queue pair's own nor than the pages
// have been waited for. Where the program allows few RNR retries the NAK is held back: most pages
// come before it would be due; and its timers grow so that few retries span a second or more. The
// reply to a read waits for its pages. Pages that are lost between translation and copy are absent
// pages, kLossesMax times a message.
//
// Invariant: a packet is executed only when its PSN is expected_; what is refused leaves expected_
// and the message in progress as they were, so that it can be resumed there.
// Owned by its queue pair, which calls Pump after each burst of inputs; one thread at a time.
class Responder {
 public:
  // `rendezvous` if the source does tag matching.
  Responder(const RcConfig& config, ReceiveSource source, queue::CompletionQueue& receive_cq,
            TagRendezvous* rendezvous = nullptr);
  // Of an extended connection: each message says which receiver of the domain it is for.
  Responder(const RcConfig& config, const XrcDomain& domain);

  // Takes effect with the next Start; remote rights and the RNR timer, at once.
  void Configure(const RcConfig& config) { config_ = config; }

  // The first request will have this number. REQUIRES: no receive request is in progress.
  void Start(Psn expected);

  // A packet has arrived for this queue pair. What is not a request of this service is dropped.
  void OnRequest(const wire::Packet& packet, Step& step);

  // Sends what is due, as far as the outbox has room.
  void Pump(Step& step);
  // Pump would send something.
  [[nodiscard]] bool wants_step() const;
  // An acknowledgement is due, and no response of a read or an atomic.
  [[nodiscard]] bool has_only_acks_due() const;
  // Something is still to be sent, now or when its pages are there. After a failure the NAK is out
  // once this is false.
  [[nodiscard]] bool has_responses_due() const;

  // Pages that were asked for in the outbox are there, or are not to be had. A ticket that is not
  // of this responder is ignored.
  void OnPagesReady(FaultTicket ticket, bool available, Step& step);

  // To be called at next_time(), or later.
  void OnTime(Step& step);
  [[nodiscard]] Time next_time() const {
    const Time held = wait_.nak_held_until();
    return reply_wait_ ? std::min(held, reply_wait_->notice_at) : held;
  }

  // A packet that Pump has put into the outbox was not sent, because memory that it names is gone
  // (`is_loss`), or because it is behind such a one. The tables know; it is sent again, in order,
  // once the pages are there. False if it must be sent all the same.
  [[nodiscard]] bool TakeBack(const OutPacket& packet, bool is_loss, Step& step);

  // All receive requests end as flushed: the queue pair is in error. To be called again when more
  // were posted since.
  void Flush(Step& step);

  // The queue pair is about to be in error because its own work has failed: what the peer has under
  // way is refused.
  void Abandon(Step& step);

  // The receiver is to leave its domain. A message for it that is under way fails.
  void DropReceiver(const queue::SharedReceiveQueue& queue, Step& step);

  // The buffers of a receive request were absent when its message came. True once for each.
  [[nodiscard]] bool TakeReceiveFault() { return std::exchange(had_receive_fault_, false); }

  // The queue that its receive requests come from, if it is a shared one.
  [[nodiscard]] queue::SharedReceiveQueue* shared_receives() const {
    return receive_.source().shared();
  }

  // Set once the queue pair must go to the error state.
  [[nodiscard]] const std::optional<FatalRefusal>& failure() const { return failure_; }

  [[nodiscard]] Psn expected() const { return expected_; }
  [[nodiscard]] wire::Msn msn() const { return msn_; }

  [[nodiscard]] bool IsConsistent() const;

 private:
  // Why packets ahead of the expected one are dropped without a word: the peer has been told.
  enum class NakState : uint8_t { kNothing, kSequenceError, kNotReady, kPagesAbsent };

  // A reply that waits for its pages, and its peer, which is told so now and then.
  struct ReplyWait {
    FaultTicket ticket;
    Psn first;  // of the reply
    Time since;
    Duration period = Duration::Max();  // of the notices
    Time noticed_at;                    // the peer has heard of us last
    Time notice_at = Time::Never();     // the next notice
    bool notice_is_due = false;
  };
  struct Acknowledgement {
    Psn psn;
    wire::Msn msn;
    wire::Syndrome syndrome;
    bool is_for_pages = false;
    VendorError check = 0;  // that has refused the peer's key
  };

  // responder.cc: the pipeline
  void OnExpected(const wire::Packet& packet, Step& step);
  void OnDuplicate(const wire::Packet& packet, Step& step);
  void OnAhead(Step& step);
  void Replay(Reply& reply, const wire::Packet& packet, Step& step);
  void Refuse(NakReason reason, Psn psn, wire::Msn msn, Step& step);
  void RefuseExpected(NakReason reason, const wire::Packet& packet, Step& step);
  void RefuseForPages(const wire::Packet& packet, Step& step);
  void HoldOrCountNak(bool ack_was_due, const Step& step);
  void ClearRefusal();
  void EndWait();
  wire::Syndrome SyndromeOf(NakReason reason, const Verdict& verdict, const Step& step) const;
  static VendorError CheckToName(NakReason reason);
  wire::RnrTimer PagesTimer(const Step& step) const;
  Duration ShareOfRetries() const;
  Duration HoldTime() const;
  bool has_due_nak() const { return nak_.has_value() && !wait_.nak_is_held(); }
  void Fail(NakReason reason, const Verdict& verdict, Step& step);
  FaultTicket RequestPages(const memory::Fault& fault, Step& step);
  void ExecuteHeld(Step& step);

  // responder_execute.cc: what a request does; nothing, or why it does not
  using Outcome = std::optional<NakReason>;
  Outcome CheckResources(const wire::Packet& packet, Step& step);
  bool TakeReceive(const wire::Packet& packet, Step& step);
  Outcome SelectReceiver(const wire::Packet& packet);
  Outcome Execute(const wire::Packet& packet, Step& step);
  Outcome ExecuteSend(const wire::Packet& packet, Step& step);
  Outcome ExecuteWrite(const wire::Packet& packet, Step& step);
  Outcome ExecuteRead(const wire::Packet& packet, Step& step);
  Outcome ExecuteAtomicOperation(const wire::Packet& packet, Step& step);
  Outcome ExecuteAtomicStore(const wire::Packet& packet, Step& step);
  Outcome ExecuteFlush(const wire::Packet& packet, Step& step);
  // `otherwise`: why it is refused if its memory is not to be had.
  Outcome OutcomeOf(const Placement& placement, ResponderError otherwise, Step& step);
  Outcome WaitForPages(const memory::Fault& fault, ResponderError otherwise, Step& step);
  void EndMessage();
  void AddDueResponse(Reply reply, const RemoteRange& range, Step& step);
  void NoteProgress(Step& step);
  Outcome CompleteReceive(const wire::Packet& packet, uint32_t byte_count, Step& step);

  // responder_send.cc: what goes out
  bool IsHeld(const Reply& reply) const;
  bool SendNext(Step& step);
  bool SendReply(Reply& reply, Step& step);
  bool SendRead(Reply& reply, Step& step);
  bool HoldRead(const Reply& reply, const memory::Fault& beginning, Step& step);
  void NoticeHeldRead(const Step& step);
  void OnHeldReadAgain(const Step& step);
  bool SendNotice(const Reply& reply, Step& step);
  void RefuseReply(Reply& reply, NakReason reason, Step& step);
  void FailReply(const Reply& reply, NakReason reason, Step& step);
  void SendAcknowledgement(const Acknowledgement& answer, Step& step);
  void SendAtomicReply(const Reply& reply, Step& step);
  memory::Accessor AccessorOf(const Reply& reply) const;
  const wire::OpcodeInfo& InfoOf(wire::Operation operation,
                                 wire::Position position = wire::Position::kOnly) const;
  OutPacket& AddPacket(Psn psn, Step& step);
  static void MakeLastSingle(Step& step);
  wire::Bth BthOf(const wire::OpcodeInfo& info, Psn psn) const;

  RcConfig config_;
  const XrcDomain* const domain_ = nullptr;  // of an extended connection
  memory::Accessor who_;  // the message in progress is for; of such a connection each may differ
  ReceiveSlot receive_;   // of the message in progress

  Psn expected_;
  wire::Msn msn_;  // messages completed
  InboundMessage message_;
  ReplayCache replies_{0};
  SegmentProbe probe_;  // of the replies

  NakState nak_state_ = NakState::kNothing;
  std::optional<Acknowledgement> nak_;  // to be sent, unless it is held back
  bool ack_is_due_ = false;             // of all before expected_
  bool ack_is_again_ = false;           // the peer has missed one
  Psn answered_;                        // the last packet that any answer has covered
  InboundWait wait_;                    // of the expected packet, for its pages
  uint8_t losses_ = 0;                  // of pages under the message in progress
  bool had_receive_fault_ = false;
  std::optional<ReplyWait> reply_wait_;
  uint64_t tickets_ = 0;
  std::optional<FatalRefusal> failure_;
};

}  // namespace verbena::transport
