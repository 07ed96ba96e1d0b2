// The calls of the consumer; see cm_connection.h.

#include "base/check.h"
#include "transport/cm/cm_connection.h"

namespace verbena::transport {

using wire::CmRejectReason;

void CmConnection::Connect(wire::CommId local_id, wire::CmReq req, CmStep& step) {
  CHECK(state_ == CmState::kClosed);
  is_active_ = true;
  local_id_ = local_id;
  local_qp_ = req.local_qp;
  service_id_ = req.service_id;
  timing_ = CmTiming::OfActive(req, *options_);
  request_end_ = step.now;
  transaction_ = NextTransaction();
  req.local_comm_id = local_id;
  req.local_ca_guid = options_->ca_guid;
  SendAndWait(CmState::kReqSent, req, step);
  DCHECK(IsConsistent());
}

bool CmConnection::Accept(wire::CmRep rep, CmStep& step) {
  if (!IsPending(state_)) return false;
  local_qp_ = rep.local_qp;
  rep.local_comm_id = local_id_;
  rep.remote_comm_id = *remote_id_;
  rep.local_ca_guid = options_->ca_guid;
  SendAndWait(CmState::kRepSent, rep, step);
  DCHECK(IsConsistent());
  return true;
}

bool CmConnection::Reject(wire::CmRej rej, CmStep& step) {
  const bool is_of_active = Is(CmState::kRepReceived, CmState::kMraRepSent);
  if (!IsHalfOpen(state_) && !is_of_active) return false;
  const wire::CmRej own = MakeRej(rej.reason);
  rej.local_comm_id = own.local_comm_id;
  rej.remote_comm_id = own.remote_comm_id;
  rej.rejected = own.rejected;
  Send(rej, step);
  // The REJ may be lost: then the peer retransmits its REQ, and must get the REJ again.
  EnterTimeWait(request_end_, step);
  DCHECK(IsConsistent());
  return true;
}

bool CmConnection::SendMra(wire::CmMra mra, CmStep& step) {
  const bool is_of_req = state_ == CmState::kReqReceived;
  if (!is_of_req && state_ != CmState::kRepReceived) return false;
  mra.local_comm_id = local_id_;
  mra.remote_comm_id = *remote_id_;
  mra.received = is_of_req ? wire::CmSubject::kReq : wire::CmSubject::kRep;
  state_ = is_of_req ? CmState::kMraReqSent : CmState::kMraRepSent;
  Send(mra, step);
  ExtendForMra(mra.service_timeout, step);
  DCHECK(IsConsistent());
  return true;
}

bool CmConnection::Establish(wire::CmRtu rtu, CmStep& step) {
  if (!Is(CmState::kRepReceived, CmState::kMraRepSent)) return false;
  rtu.local_comm_id = local_id_;
  rtu.remote_comm_id = *remote_id_;
  state_ = CmState::kEstablished;
  deadline_ = Time::Never();
  Send(rtu, step);
  DCHECK(IsConsistent());
  return true;
}

bool CmConnection::NotifyEstablished(CmStep& step) {
  if (!Is(CmState::kRepSent, CmState::kMraRepReceived)) return false;
  state_ = CmState::kEstablished;
  deadline_ = Time::Never();
  Raise(CmEventType::kEstablished, std::nullopt, step);
  DCHECK(IsConsistent());
  return true;
}

bool CmConnection::Disconnect(const wire::PrivateData<220>& data, CmStep& step) {
  if (state_ == CmState::kEstablished) {
    SendDreq(data, step);
  } else if (state_ == CmState::kDreqReceived) {
    SendDrep(data, step);
    EnterTimeWait(step.now, step);
  } else {
    return false;
  }
  DCHECK(IsConsistent());
  return true;
}

void CmConnection::Destroy(CmStep& step) {
  is_destroyed_ = true;
  if (Is(CmState::kReqSent, CmState::kMraReqReceived)) {
    SendRejTimeout(step);
    EnterTimeWait(step.now, step);
  } else if (!Disconnect({}, step)) {
    // Fails if the connection is already over.
    (void)Reject({.reason = CmRejectReason::kConsumer}, step);
  }
  DCHECK(IsConsistent());
}

}  // namespace verbena::transport
