#include "transport/iwarp/iwarp_qp.h"

#include <algorithm>

#include "base/check.h"

namespace verbena::transport {

using wire::DdpControl;
using wire::DdpTagged;
using wire::DdpUntagged;
using wire::RdmapOpcode;
using wire::StreamOffset;

IwarpQp::IwarpQp(const IwarpConfig& config, queue::SendQueue& send_queue, ReceiveSource receives,
                 queue::CompletionQueue& send_cq, queue::CompletionQueue& receive_cq)
    : requester_(config, send_queue, send_cq), responder_(config, receives, receive_cq) {}

void IwarpQp::Configure(const IwarpConfig& config) {
  CHECK(config.local_qp == this->config().local_qp);
  requester_.Configure(config);
  responder_.Configure(config);
}

void IwarpQp::Connect(SendBuffer& out) {
  CHECK(state_ == QpState::kInit);
  // First what allocates, and may fail.
  const bool has_records = config().stream.framing == StreamFraming::kRecords;
  if (has_records || config().stream.receive_markers) early_.Reserve();
  in_.emplace(config().stream);
  requester_.Start();
  responder_.Start();
  out_.emplace(config().stream, out);
  state_ = QpState::kRts;
}

void IwarpQp::Drain(bool notify) {
  CHECK(state_ == QpState::kRts);
  state_ = QpState::kSqd;
  drain_was_reported_ = !notify;
}

void IwarpQp::ResumeSends() {
  CHECK(state_ == QpState::kSqd);
  state_ = QpState::kRts;
  is_flushing_ = false;
}

// One event per drain.
void IwarpQp::ReportDrained(Step& step) {
  if (drain_was_reported_ || !requester_.is_drained()) return;
  drain_was_reported_ = true;
  step.outbox.Raise({AsyncEventType::kSendQueueDrained, config().local_qp});
}

void IwarpQp::SendReadyToReceive(Rtr how) {
  CHECK(is_connected() && out_->offset() == StreamOffset(0));
  if (how == Rtr::kEmptyFrame) {
    CHECK(out_->SendEmpty());
    ++counters_.frames_sent;
  } else {
    CHECK(SendEmptyWrite());
  }
}

// False if there is no room.
bool IwarpQp::SendEmptyWrite() {
  if (!out_->Begin(DdpTagged::kSize)) return false;
  DdpTagged{.control = {.tagged = true, .last = true, .opcode = RdmapOpcode::kWrite}}.Serialize(
      out_->ulpdu());
  out_->End();
  ++counters_.frames_sent;
  return true;
}

bool IwarpQp::RepeatReady() {
  if (has_received_ || !is_connected() || !FinishesSends(state_)) return false;
  const bool is_mid_message = requester_.is_mid_message() || responder_.is_mid_message();
  return is_mid_message || SendEmptyWrite();
}

void IwarpQp::OnStreamEnd() {
  if (state_ != QpState::kInit) state_ = QpState::kErr;
}

void IwarpQp::OnPagesReady(FaultTicket ticket, bool available, Step& step) {
  requester_.OnPagesReady(ticket, available, step);
  responder_.OnPagesReady(ticket, available, step);
}

// A message is not interrupted by another one, unless it waits for pages in its middle.
FrameSent IwarpQp::PumpOne(Step& step) {
  const bool may_begin = StartsSends(state_);
  const bool only_requester = requester_.is_mid_message();
  const bool only_responder = !only_requester && responder_.is_mid_message();
  for (const bool of_responder : {responder_first_, !responder_first_}) {
    if (of_responder ? only_requester : only_responder) continue;
    const FrameSent sent = of_responder ? responder_.SendFrame(*out_, step)
                                        : requester_.SendFrame(*out_, may_begin, step);
    if (sent == FrameSent::kNothing) continue;
    if (sent == FrameSent::kSent) responder_first_ = !of_responder;
    return sent;
  }
  return FrameSent::kNothing;
}

void IwarpQp::Pump(Step& step) {
  wants_room_ = false;
  if (!FinishesSends(state_) || !may_send()) return;
  for (;;) {
    const FrameSent sent = PumpOne(step);
    wants_room_ = sent == FrameSent::kNoRoom;
    if (sent != FrameSent::kSent) return;
    ++counters_.frames_sent;
  }
}

bool IwarpQp::Run(Step& step) {
  Pump(step);
  requester_.CompleteDone(step);
  if (requester_.TakeSqdFailure()) {
    state_ = QpState::kSqd;
    is_flushing_ = true;
    drain_was_reported_ = false;
  }
  if (is_flushing_ && state_ == QpState::kSqd) requester_.FlushPosted(step);
  if (state_ == QpState::kSqd) ReportDrained(step);
  if (state_ != QpState::kErr) {
    if (const auto& failed = responder_.failure()) {
      const Refused refused = failed->read ? RefusedOf(*failed->read) : Refused();
      Terminate(failed->reason, refused, step);
    } else if (requester_.has_failed()) {
      TerminateLocally();
    }
  }
  if (state_ == QpState::kErr) {
    wants_room_ = false;
    requester_.Flush(step);
    responder_.Flush(step);
  }
  DCHECK(IsConsistent());
  return false;
}

// An element of this side has failed. (Row B3: among others, a registration in anticipatory mode.)
void IwarpQp::TerminateLocally() {
  failure_ = NakReason(ResponderError::kOwnWorkFailed);
  SendTerminate({.code = TerminationOf(*failure_, SegmentKind::kUntagged).code});
  state_ = QpState::kErr;
}

void IwarpQp::Terminate(const TerminateReason& reason, const Refused& refused, Step& step) {
  const Termination termination = TerminationOf(reason, refused.kind);
  failure_ = reason;
  wire::RdmapTerminate terminate{.code = termination.code};
  if (refused.header.index() != 0) {
    terminate.segment_length = refused.length;
    terminate.header = refused.header;
    terminate.read_request = refused.read_request;
  }
  SendTerminate(terminate);
  responder_.Fail(termination, reason, step);
  state_ = QpState::kErr;
}

// RFC 5040, 4.8: the last message of this side. There is always room for it.
void IwarpQp::SendTerminate(const wire::RdmapTerminate& terminate) {
  if (!is_connected() || terminate_sent_ || terminate_received_) return;
  out_->BeginLast(DdpUntagged::kSize + terminate.size());
  DdpUntagged{.control = {.last = true, .opcode = RdmapOpcode::kTerminate},
              .queue = wire::DdpQueue::kTerminate,
              .msn = wire::kFirstDdpMsn}
      .Serialize(out_->ulpdu());
  terminate.Serialize(out_->ulpdu().subspan(DdpUntagged::kSize));
  out_->End();
  ++counters_.frames_sent;
  terminate_sent_ = terminate;
}

IwarpQp::Counters IwarpQp::counters() const {
  Counters all = counters_;
  all.page_waits = requester_.page_waits() + responder_.page_waits();
  return all;
}

bool IwarpQp::IsConsistent() const {
  if (is_connected() && state_ == QpState::kInit) return false;
  return requester_.IsConsistent() && responder_.IsConsistent();
}

}  // namespace verbena::transport
