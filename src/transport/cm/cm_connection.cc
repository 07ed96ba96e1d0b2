#include "transport/cm/cm_connection.h"

#include <algorithm>
#include <variant>

#include "base/check.h"

namespace verbena::transport {

using wire::CmRejectReason;
using wire::CmSubject;

// The local id is unique to this connection, and so are transaction ids that contain it.
wire::TransactionId CmConnection::NextTransaction() {
  return wire::TransactionId(uint64_t{local_id_.value()} << 32 | ++transactions_);
}

void CmConnection::Send(const wire::CmMessage& message, CmStep& step) {
  last_ = {transaction_, message};
  step.outbox.datagrams.push_back({peer_, last_});
}

void CmConnection::SendAgain(CmStep& step) {
  ++retransmissions_;
  if (const auto* const mra = std::get_if<wire::CmMra>(&last_.message)) {
    ExtendForMra(mra->service_timeout, step);
  }
  step.outbox.datagrams.push_back({peer_, last_});
}

Duration CmConnection::AnswerTime() const {
  if (state_ != CmState::kDreqSent) return timing_.answer;
  return std::min(timing_.answer, options_->disconnect_answer);
}

void CmConnection::SendAndWait(CmState state, const wire::CmMessage& message, CmStep& step) {
  state_ = state;
  retries_left_ = timing_.retries;
  deadline_ = step.now + AnswerTime();
  Send(message, step);
}

void CmConnection::Raise(CmEventType type, const std::optional<wire::CmMessage>& message,
                         CmStep& step) {
  if (is_destroyed_) return;
  step.outbox.events.push_back(
      {.type = type, .connection = local_id_, .peer = peer_, .message = message});
}

// Duplicates of the peer's messages may arrive for the lifetime of datagrams, and longer if the
// peer keeps retransmitting: until `at_least_until`. The same holds for messages of this side: a
// late REQ would make the next connection of its QP stale.
void CmConnection::EnterTimeWait(Time at_least_until, CmStep& step) {
  state_ = CmState::kTimeWait;
  deadline_ = std::max(step.now + options_->time_wait, at_least_until);
}

// After an MRA, waits for the service timeout, and then for the remaining retries.
void CmConnection::ExtendForMra(wire::CmTimeout service, CmStep& step) {
  const Duration longer = wire::DurationOf(service) + timing_.patience + timing_.round_trip;
  deadline_ = request_end_ = step.now + std::min(longer, options_->patience_max);
}

void CmConnection::Close() {
  state_ = CmState::kClosed;
  deadline_ = Time::Never();
}

wire::CmRej CmConnection::MakeRej(CmRejectReason reason) const {
  CmSubject subject = CmSubject::kOther;
  if (IsPending(state_)) subject = CmSubject::kReq;
  if (Is(CmState::kRepReceived, CmState::kMraRepSent)) subject = CmSubject::kRep;
  return {.local_comm_id = local_id_,
          .remote_comm_id = remote_id_.value_or(wire::CommId()),
          .rejected = subject,
          .reason = reason};
}

// IBA 12.6.7.2: a peer that never learned our id finds the connection by the GUID and its own id.
void CmConnection::SendRejTimeout(CmStep& step) {
  wire::CmRej rej = MakeRej(CmRejectReason::kTimeout);
  for (unsigned i = 0; i < 8; ++i) {
    rej.info.bytes[i] = static_cast<std::byte>(options_->ca_guid.value() >> (56 - 8 * i));
  }
  rej.info_length = 8;
  Send(rej, step);
}

void CmConnection::SendDreq(const wire::PrivateData<220>& data, CmStep& step) {
  transaction_ = NextTransaction();
  SendAndWait(CmState::kDreqSent,
              wire::CmDreq{.local_comm_id = local_id_,
                           .remote_comm_id = *remote_id_,
                           .remote_qp = *remote_qp_,
                           .private_data = data},
              step);
}

void CmConnection::SendDrep(const wire::PrivateData<220>& data, CmStep& step) {
  Send(wire::CmDrep{.local_comm_id = local_id_,
                    .remote_comm_id = *remote_id_,
                    .private_data = wire::PrivateData<224>::From(data.bytes)},
       step);
}

void CmConnection::OnTime(CmStep& step) {
  CHECK(deadline_ <= step.now);
  switch (state_) {
    case CmState::kReqSent:
    case CmState::kRepSent:
    case CmState::kDreqSent:
      RetryOrGiveUp(step);
      break;
    // The service timeout has passed as well: it counts as one try.
    case CmState::kMraReqReceived:
      state_ = CmState::kReqSent;
      RetryOrGiveUp(step);
      break;
    case CmState::kMraRepReceived:
      state_ = CmState::kRepSent;
      RetryOrGiveUp(step);
      break;
    // The consumer took longer than the peer waits.
    case CmState::kReqReceived:
    case CmState::kMraReqSent:
    case CmState::kRepReceived:
    case CmState::kMraRepSent:
      GiveUp(step);
      break;
    case CmState::kDreqReceived:
      SendDrep({}, step);
      EnterTimeWait(step.now, step);
      break;
    case CmState::kTimeWait:
      if (local_qp_ && remote_qp_) Raise(CmEventType::kTimewaitExit, std::nullopt, step);
      Close();
      break;
    case CmState::kEstablished:
    case CmState::kClosed:
      UNREACHABLE();
  }
  DCHECK(IsConsistent());
}

void CmConnection::RetryOrGiveUp(CmStep& step) {
  if (retries_left_ == 0) return GiveUp(step);
  --retries_left_;
  deadline_ = step.now + AnswerTime();
  SendAgain(step);
}

void CmConnection::GiveUp(CmStep& step) {
  if (state_ == CmState::kDreqSent) {
    Raise(CmEventType::kDisconnected, std::nullopt, step);
    return EnterTimeWait(step.now, step);
  }
  // The peer may have got our messages, and its responses may have been lost.
  SendRejTimeout(step);
  Raise(CmEventType::kUnreachable, std::nullopt, step);
  EnterTimeWait(request_end_, step);
}

// Remembered no longer than other connections, whatever the peer's timeouts are: a copy of its REQ
// that comes later is a new request.
void CmConnection::GiveWay(CmStep& step) {
  CHECK(IsHalfOpen(state_));
  Send(MakeRej(CmRejectReason::kNoResources), step);
  Raise(CmEventType::kUnreachable, std::nullopt, step);
  EnterTimeWait(step.now, step);
}

bool CmConnection::IsDuplicate(const wire::CmReq& req) const {
  return service_id_ == req.service_id && remote_qp_ == req.local_qp &&
         request_psn_ == req.starting_psn;
}

bool CmConnection::IsConsistent() const {
  if (state_ == CmState::kClosed) return deadline_ == Time::Never();
  if (is_active_ && IsHalfOpen(state_)) return false;
  if (state_ >= CmState::kEstablished && state_ != CmState::kTimeWait &&
      !(remote_id_ && remote_qp_ && local_qp_)) {
    return false;
  }
  return (deadline_ == Time::Never()) == (state_ == CmState::kEstablished);
}

}  // namespace verbena::transport
