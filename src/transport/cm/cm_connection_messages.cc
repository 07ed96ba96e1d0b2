// Messages of the peer; see cm_connection.h. Each handler lists the states in which the message is
// valid; in other states it is late, duplicated or forged, and has no effect.

#include <algorithm>
#include <variant>

#include "base/check.h"
#include "transport/cm/cm_connection.h"

namespace verbena::transport {

using wire::CmRejectReason;
using wire::CmSubject;

void CmConnection::OnRequest(wire::CommId local_id, const wire::CmReq& req,
                             wire::TransactionId transaction, CmStep& step) {
  CHECK(state_ == CmState::kClosed);
  local_id_ = local_id;
  remote_id_ = req.local_comm_id;
  remote_guid_ = req.local_ca_guid;
  remote_qp_ = req.local_qp;
  service_id_ = req.service_id;
  request_psn_ = req.starting_psn;
  timing_ = CmTiming::OfPassive(req, *options_);
  transaction_ = transaction;
  state_ = CmState::kReqReceived;
  deadline_ = request_end_ = step.now + timing_.patience;
  Raise(CmEventType::kConnectRequest, req, step);
  DCHECK(IsConsistent());
}

void CmConnection::OnDuplicateReq(CmStep& step) {
  const bool is_answered = state_ == CmState::kMraReqSent || state_ == CmState::kRepSent ||
                           state_ == CmState::kMraRepReceived;
  const bool is_rejected =
      state_ == CmState::kTimeWait && std::holds_alternative<wire::CmRej>(last_.message);
  if (is_answered || is_rejected) return SendAgain(step);
  if (state_ != CmState::kTimeWait) return;
  // IBA 12.9.8.3: a REQ for a connection that is over.
  wire::CmRej stale = MakeRej(CmRejectReason::kStaleConnection);
  stale.rejected = CmSubject::kReq;
  step.outbox.datagrams.push_back({peer_, {transaction_, stale}});
}

void CmConnection::OnMessage(const wire::CmMra& mra, CmStep& step) {
  const bool is_of_req = mra.received == CmSubject::kReq && state_ == CmState::kReqSent;
  const bool is_of_rep = mra.received == CmSubject::kRep && state_ == CmState::kRepSent;
  if (!is_of_req && !is_of_rep) return;
  state_ = is_of_req ? CmState::kMraReqReceived : CmState::kMraRepReceived;
  deadline_ = step.now + std::min(timing_.AnswerAfter(mra.service_timeout), options_->patience_max);
  DCHECK(IsConsistent());
}

void CmConnection::OnMessage(const wire::CmRej& rej, CmStep& step) {
  switch (state_) {
    case CmState::kReqSent:
    case CmState::kMraReqReceived:
    case CmState::kRepReceived:
    case CmState::kMraRepSent:
    case CmState::kReqReceived:
    case CmState::kMraReqSent:
    case CmState::kRepSent:
    case CmState::kMraRepReceived:
      Raise(CmEventType::kRejected, rej, step);
      EnterTimeWait(step.now, step);
      break;
    case CmState::kEstablished:
      // The REQ was accepted meanwhile: this is the response to a duplicate of it.
      if (rej.rejected == CmSubject::kReq) return;
      Raise(CmEventType::kRejected, rej, step);
      EnterTimeWait(step.now, step);
      break;
    case CmState::kDreqSent:
      Raise(CmEventType::kDisconnected, rej, step);
      EnterTimeWait(step.now, step);
      break;
    case CmState::kDreqReceived:
    case CmState::kTimeWait:
    case CmState::kClosed:
      return;
  }
  DCHECK(IsConsistent());
}

void CmConnection::OnMessage(const wire::CmRep& rep, CmStep& step) {
  if (Is(CmState::kReqSent, CmState::kMraReqReceived)) {
    remote_id_ = rep.local_comm_id;
    remote_guid_ = rep.local_ca_guid;
    remote_qp_ = rep.local_qp;
    state_ = CmState::kRepReceived;
    deadline_ = request_end_ = step.now + timing_.patience;
    Raise(CmEventType::kConnectResponse, rep, step);
    DCHECK(IsConsistent());
    return;
  }
  // A duplicate: the MRA, RTU or REJ in response to it was lost.
  const bool is_rejected =
      state_ == CmState::kTimeWait && std::holds_alternative<wire::CmRej>(last_.message);
  const bool is_ready = state_ == CmState::kEstablished && is_active_;
  if (state_ == CmState::kMraRepSent || is_ready || is_rejected) SendAgain(step);
}

void CmConnection::OnStaleRep(const wire::CmRep& rep, CmStep& step) {
  CHECK(Is(CmState::kReqSent, CmState::kMraReqReceived));
  remote_id_ = rep.local_comm_id;
  remote_guid_ = rep.local_ca_guid;
  wire::CmRej rej = MakeRej(CmRejectReason::kStaleConnection);
  rej.rejected = CmSubject::kRep;
  Send(rej, step);
  Raise(CmEventType::kRejected, rej, step);
  EnterTimeWait(step.now + timing_.patience, step);
  DCHECK(IsConsistent());
}

void CmConnection::OnMessage(const wire::CmRtu& rtu, CmStep& step) {
  if (Is(CmState::kRepSent, CmState::kMraRepReceived)) {
    state_ = CmState::kEstablished;
    deadline_ = Time::Never();
    Raise(CmEventType::kEstablished, rtu, step);
  } else if (state_ == CmState::kTimeWait && std::holds_alternative<wire::CmRej>(last_.message)) {
    SendAgain(step);  // the peer believes in a connection that was given up
  }
  DCHECK(IsConsistent());
}

void CmConnection::OnDreq(const wire::CmDreq& dreq, wire::TransactionId transaction, CmStep& step) {
  // IBA 12.6.10: a DREQ carries the QP number, so that a late one does not end the next connection.
  if (!local_qp_ || !remote_id_ || dreq.remote_qp != *local_qp_) return;
  if (state_ == CmState::kTimeWait) {
    if (std::holds_alternative<wire::CmDrep>(last_.message)) return SendAgain(step);
    transaction_ = transaction;
    return SendDrep({}, step);
  }
  if (state_ == CmState::kDreqReceived || IsPending(state_)) return;
  // On the passive side before an RTU, which was lost.
  const bool is_crossing = state_ == CmState::kDreqSent;
  transaction_ = transaction;
  state_ = CmState::kDreqReceived;
  deadline_ = step.now + timing_.patience;
  Raise(CmEventType::kDisconnected, dreq, step);
  // The consumer has already called Disconnect, or has dropped the connection.
  if (is_crossing || is_destroyed_) CHECK(Disconnect({}, step));
  DCHECK(IsConsistent());
}

void CmConnection::OnMessage(const wire::CmDrep& drep, CmStep& step) {
  if (state_ != CmState::kDreqSent) return;
  Raise(CmEventType::kDisconnected, drep, step);
  EnterTimeWait(step.now, step);
  DCHECK(IsConsistent());
}

}  // namespace verbena::transport
