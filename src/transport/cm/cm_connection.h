#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "transport/cm/cm_options.h"
#include "transport/cm/cm_state.h"
#include "transport/cm/cm_step.h"
#include "transport/cm/cm_timing.h"
#include "verbena/ip_address.h"
#include "wire/mad/cm_mad.h"

namespace verbena::transport {

// One connection, from its REQ until nothing of it can be under way any more (IBA 12.9): the
// machine alone, without the tables by which CmManager finds it. docs/connection-manager.md has its
// states and inputs as a table.
//
// The last message sent is kept: the timer sends it again while an answer is missing, and a
// duplicate of what it answered is answered by it again. So a consumer hears of each message once.
//
// A call returns false in a state in which it makes no sense; then nothing has changed. Owned by
// CmManager; one thread at a time.
class CmConnection {
 public:
  // `options` outlive it.
  CmConnection(const CmOptions& options, const CmPeer& peer) : options_(&options), peer_(peer) {}

  // The first input: one of these.
  void Connect(wire::CommId local_id, wire::CmReq req, CmStep& step);
  void OnRequest(wire::CommId local_id, const wire::CmReq& req, wire::TransactionId transaction,
                 CmStep& step);

  // Calls of the consumer; ids and GUIDs in the messages are filled in here.
  bool Accept(wire::CmRep rep, CmStep& step);
  bool Reject(wire::CmRej rej, CmStep& step);
  bool SendMra(wire::CmMra mra, CmStep& step);
  bool Establish(wire::CmRtu rtu, CmStep& step);
  bool NotifyEstablished(CmStep& step);  // data has arrived before the RTU
  // A DREQ, or the DREP that the peer's DREQ waits for.
  bool Disconnect(const wire::PrivateData<220>& data, CmStep& step);
  // The consumer is no longer interested: the peer is told, and no event follows.
  void Destroy(CmStep& step);

  // Messages of this peer about this connection.
  void OnDuplicateReq(CmStep& step);
  void OnMessage(const wire::CmMra& mra, CmStep& step);
  void OnMessage(const wire::CmRej& rej, CmStep& step);
  void OnMessage(const wire::CmRep& rep, CmStep& step);
  // A REP for a QP that another connection has: refused in the consumer's place.
  void OnStaleRep(const wire::CmRep& rep, CmStep& step);
  void OnMessage(const wire::CmRtu& rtu, CmStep& step);
  void OnMessage(const wire::CmDrep& drep, CmStep& step);
  void OnDreq(const wire::CmDreq& dreq, wire::TransactionId transaction, CmStep& step);

  // REQUIRES: deadline() has passed.
  void OnTime(CmStep& step);
  [[nodiscard]] Time deadline() const { return deadline_; }

  [[nodiscard]] CmState state() const { return state_; }
  [[nodiscard]] const CmPeer& peer() const { return peer_; }
  [[nodiscard]] bool is_active() const { return is_active_; }
  [[nodiscard]] wire::ServiceId service_id() const { return service_id_; }
  [[nodiscard]] wire::CommId local_id() const { return local_id_; }
  // Not known before the peer's first message, or its REP.
  [[nodiscard]] std::optional<wire::CommId> remote_id() const { return remote_id_; }
  [[nodiscard]] wire::CaGuid remote_guid() const { return remote_guid_; }
  [[nodiscard]] std::optional<QpNumber> local_qp() const { return local_qp_; }
  [[nodiscard]] std::optional<QpNumber> remote_qp() const { return remote_qp_; }

  // Whether a message from `from` that calls its own end `their_id` is about this connection.
  [[nodiscard]] bool IsFrom(const CmPeer& from, wire::CommId their_id) const {
    return remote_id_ ? peer_ == from && *remote_id_ == their_id : peer_.IsAnsweredBy(from);
  }
  // The first answer to a REQ shows which process of the peer's machine it was for.
  void LearnPeer(const CmPeer& from) {
    if (!remote_id_) peer_ = from;
  }
  // Whether `req` is the one that this connection came from, and not another that has its id.
  [[nodiscard]] bool IsDuplicate(const wire::CmReq& req) const;

  [[nodiscard]] uint64_t retransmissions() const { return retransmissions_; }
  [[nodiscard]] bool IsConsistent() const;

 private:
  // cm_connection.cc: what all inputs share, and time.
  [[nodiscard]] wire::TransactionId NextTransaction();
  [[nodiscard]] bool Is(CmState a, CmState b) const { return state_ == a || state_ == b; }
  void Send(const wire::CmMessage& message, CmStep& step);
  void SendAgain(CmStep& step);
  // Until the last message is sent again.
  [[nodiscard]] Duration AnswerTime() const;
  void SendAndWait(CmState state, const wire::CmMessage& message, CmStep& step);
  void Raise(CmEventType type, const std::optional<wire::CmMessage>& message, CmStep& step);
  void EnterTimeWait(Time at_least_until, CmStep& step);
  void PutOffForMra(wire::CmTimeout service, CmStep& step);
  void Close();
  void RetryOrGiveUp(CmStep& step);
  void GiveUp(CmStep& step);
  [[nodiscard]] wire::CmRej MakeRej(wire::CmRejectReason reason) const;
  void SendRejTimeout(CmStep& step);
  void SendDreq(const wire::PrivateData<220>& data, CmStep& step);
  void SendDrep(const wire::PrivateData<220>& data, CmStep& step);

  const CmOptions* options_;
  CmPeer peer_;
  wire::CommId local_id_{};
  std::optional<wire::CommId> remote_id_;
  wire::CaGuid remote_guid_{};  // 0 until it is known
  std::optional<QpNumber> local_qp_;
  std::optional<QpNumber> remote_qp_;
  wire::ServiceId service_id_{};
  Psn request_psn_{};  // tells a REQ from another one with its id
  CmTiming timing_{};

  CmState state_ = CmState::kClosed;
  bool is_active_ = false;
  bool is_destroyed_ = false;
  Time deadline_ = Time::Never();
  Time request_end_{};  // when the peer, if it hears nothing, stops to send its REQ or REP

  wire::CmMad last_{};                 // sent
  wire::TransactionId transaction_{};  // of the last REQ or DREQ, and so of its answers
  uint32_t transactions_ = 0;
  uint8_t retries_left_ = 0;
  uint64_t retransmissions_ = 0;
};

}  // namespace verbena::transport
