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

// One connection, from its REQ until no message of it can be in the network any more (IBA 12.9):
// the state machine only, without the tables by which CmManager finds it.
// docs/connection-manager.md has its states and inputs as a table.
//
// The last message sent is kept: the timer retransmits it while there is no response, and a
// duplicate of the message that it responds to gets it again. So a consumer gets one event per
// message.
//
// A call returns false, and changes nothing, in a state that does not allow it. Owned by CmManager;
// one thread at a time.
class CmConnection {
 public:
  // `options` outlive it.
  CmConnection(const CmOptions& options, const CmPeer& peer) : options_(&options), peer_(peer) {}

  // The first input is one of these.
  void Connect(wire::CommId local_id, wire::CmReq req, CmStep& step);
  void OnRequest(wire::CommId local_id, const wire::CmReq& req, wire::TransactionId transaction,
                 CmStep& step);

  // Calls of the consumer; they fill in the ids and GUIDs of the messages.
  bool Accept(wire::CmRep rep, CmStep& step);
  bool Reject(wire::CmRej rej, CmStep& step);
  bool SendMra(wire::CmMra mra, CmStep& step);
  bool Establish(wire::CmRtu rtu, CmStep& step);
  bool NotifyEstablished(CmStep& step);  // data has arrived before the RTU
  // Sends a DREQ, or the DREP that the peer's DREQ waits for.
  bool Disconnect(const wire::PrivateData<220>& data, CmStep& step);
  // The consumer drops the connection: notifies the peer; no event follows.
  void Destroy(CmStep& step);

  // Its place is given to another peer. REQUIRES: it is half-open.
  void GiveWay(CmStep& step);

  // Messages of this peer about this connection.
  void OnDuplicateReq(CmStep& step);
  void OnMessage(const wire::CmMra& mra, CmStep& step);
  void OnMessage(const wire::CmRej& rej, CmStep& step);
  void OnMessage(const wire::CmRep& rep, CmStep& step);
  // A REP for a QP that belongs to another connection: rejects it for the consumer.
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
  // nullopt before the peer's first message or REP.
  [[nodiscard]] std::optional<wire::CommId> remote_id() const { return remote_id_; }
  [[nodiscard]] wire::CaGuid remote_guid() const { return remote_guid_; }
  [[nodiscard]] std::optional<QpNumber> local_qp() const { return local_qp_; }
  [[nodiscard]] std::optional<QpNumber> remote_qp() const { return remote_qp_; }

  // Whether a message from `from` with the id `their_id` belongs to this connection.
  [[nodiscard]] bool IsFrom(const CmPeer& from, wire::CommId their_id) const {
    return remote_id_ ? peer_ == from && *remote_id_ == their_id : peer_.IsAnsweredBy(from);
  }
  // The first response to a REQ shows which process of the peer's machine has the service.
  void LearnPeer(const CmPeer& from) {
    if (!remote_id_) peer_ = from;
  }
  // Whether `req` is the REQ of this connection, and not another one with the same id.
  [[nodiscard]] bool IsDuplicate(const wire::CmReq& req) const;

  [[nodiscard]] uint64_t retransmissions() const { return retransmissions_; }
  [[nodiscard]] bool IsConsistent() const;

 private:
  // cm_connection.cc: common parts, and time.
  [[nodiscard]] wire::TransactionId NextTransaction();
  [[nodiscard]] bool Is(CmState a, CmState b) const { return state_ == a || state_ == b; }
  void Send(const wire::CmMessage& message, CmStep& step);
  void SendAgain(CmStep& step);
  // When the last message is retransmitted.
  [[nodiscard]] Duration AnswerTime() const;
  void SendAndWait(CmState state, const wire::CmMessage& message, CmStep& step);
  void Raise(CmEventType type, const std::optional<wire::CmMessage>& message, CmStep& step);
  void EnterTimeWait(Time at_least_until, CmStep& step);
  void ExtendForMra(wire::CmTimeout service, CmStep& step);
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
  wire::CaGuid remote_guid_{};  // 0 until known
  std::optional<QpNumber> local_qp_;
  std::optional<QpNumber> remote_qp_;
  wire::ServiceId service_id_{};
  Psn request_psn_{};  // distinguishes REQs with the same id
  CmTiming timing_{};

  CmState state_ = CmState::kClosed;
  bool is_active_ = false;
  bool is_destroyed_ = false;
  Time deadline_ = Time::Never();
  Time request_end_{};  // when the peer stops retransmitting its REQ or REP

  wire::CmMad last_{};                 // sent
  wire::TransactionId transaction_{};  // of the last REQ or DREQ, and of the responses to it
  uint32_t transactions_ = 0;
  uint8_t retries_left_ = 0;
  uint64_t retransmissions_ = 0;
};

}  // namespace verbena::transport
