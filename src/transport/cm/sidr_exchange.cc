#include "transport/cm/sidr_exchange.h"

#include "base/check.h"

namespace verbena::transport {

void SidrExchange::Raise(CmEventType type, const std::optional<wire::CmMessage>& message,
                         CmStep& step) const {
  step.outbox.events.push_back({.type = type, .sidr = id_, .peer = peer_, .message = message});
}

void SidrExchange::Close() {
  state_ = State::kClosed;
  deadline_ = Time::Never();
}

void SidrExchange::Ask(wire::SidrRequestId id, wire::CmSidrReq req, const Retry& retry,
                       CmStep& step) {
  CHECK(state_ == State::kClosed);
  id_ = id;
  is_active_ = true;
  req.request_id = request_id_ = id_;
  retry_ = retry;
  state_ = State::kReqSent;
  deadline_ = step.now + retry.answer;
  last_ = {wire::TransactionId(uint64_t{id_.value()} << 32), req};
  step.outbox.datagrams.push_back({peer_, last_});
}

void SidrExchange::OnRequest(wire::SidrRequestId id, const wire::CmSidrReq& req,
                             wire::TransactionId transaction, Duration patience, CmStep& step) {
  CHECK(state_ == State::kClosed);
  id_ = id;
  request_id_ = req.request_id;
  service_id_ = req.service_id;
  transaction_ = transaction;
  state_ = State::kReqReceived;
  deadline_ = step.now + patience;
  Raise(CmEventType::kSidrRequest, req, step);
}

bool SidrExchange::Answer(wire::CmSidrRep rep, CmStep& step) {
  if (state_ != State::kReqReceived) return false;
  rep.request_id = request_id_;
  rep.service_id = service_id_;
  state_ = State::kAnswered;  // until the same deadline
  last_ = {transaction_, rep};
  step.outbox.datagrams.push_back({peer_, last_});
  return true;
}

void SidrExchange::Destroy(CmStep& step) {
  if (is_active_) return Close();
  (void)Answer({.status = wire::CmSidrStatus::kRejected}, step);
}

void SidrExchange::OnDuplicateReq(CmStep& step) {
  if (state_ == State::kAnswered) step.outbox.datagrams.push_back({peer_, last_});
}

void SidrExchange::OnResponse(const wire::CmSidrRep& rep, CmStep& step) {
  CHECK(is_active_);
  Raise(CmEventType::kSidrResponse, rep, step);
  Close();
}

void SidrExchange::OnTime(CmStep& step) {
  CHECK(deadline_ <= step.now);
  if (state_ == State::kReqSent && retry_.count > 0) {
    --retry_.count;
    deadline_ = step.now + retry_.answer;
    step.outbox.datagrams.push_back({peer_, last_});
    return;
  }
  // The consumer has not responded in time: the request ends.
  if (state_ != State::kAnswered) Raise(CmEventType::kSidrUnreachable, std::nullopt, step);
  Close();
}

}  // namespace verbena::transport
