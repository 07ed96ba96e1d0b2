#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "base/time.h"
#include "transport/cm/cm_connection.h"
#include "transport/cm/cm_counters.h"
#include "transport/cm/cm_directory.h"
#include "transport/cm/cm_error.h"
#include "transport/cm/cm_listeners.h"
#include "transport/cm/cm_options.h"
#include "transport/cm/cm_step.h"
#include "transport/cm/cm_table.h"
#include "transport/cm/half_open.h"
#include "transport/cm/sidr_exchanges.h"

namespace verbena::transport {

// The connection manager of an address (IBA 12): its listeners, its connections and its SIDR
// exchanges. Inputs are calls of the consumer, datagrams and time; the effects are in the outbox of
// the step when the call returns.
//
// The consumer refers to a connection by its local id. The connection is over with the event
// kRejected or kUnreachable, with kDisconnected once Disconnect was called, and after Reject and
// Destroy. Its QP number can be used again when IsQpFree is true; after a timewait, the event
// kTimewaitExit reports this.
//
// One thread at a time: its owner guards it.
class CmManager {
 public:
  explicit CmManager(const CmOptions& options);
  CmManager(const CmManager&) = delete;
  CmManager& operator=(const CmManager&) = delete;

  // `backlog`: how many requests may wait for the consumer.
  [[nodiscard]] Result<void, CmError> Listen(const CmListenAddress& at, std::size_t backlog);
  [[nodiscard]] Result<void, CmError> StopListening(const CmListenAddress& at);

  // Fills in the ids and GUIDs of these messages.
  [[nodiscard]] Result<wire::CommId, CmError> Connect(const wire::CmReq& req, const CmPeer& to,
                                                      CmStep& step);
  [[nodiscard]] Result<void, CmError> Accept(wire::CommId id, const wire::CmRep& rep, CmStep& step);
  [[nodiscard]] Result<void, CmError> Reject(wire::CommId id, const wire::CmRej& rej, CmStep& step);
  [[nodiscard]] Result<void, CmError> SendMra(wire::CommId id, const wire::CmMra& mra,
                                              CmStep& step);
  [[nodiscard]] Result<void, CmError> Establish(wire::CommId id, const wire::CmRtu& rtu,
                                                CmStep& step);
  // The passive side has received data before the RTU.
  [[nodiscard]] Result<void, CmError> NotifyEstablished(wire::CommId id, CmStep& step);
  // Ends a connection, or responds to the peer's DREQ.
  [[nodiscard]] Result<void, CmError> Disconnect(wire::CommId id,
                                                 const wire::PrivateData<220>& data, CmStep& step);
  // In any state: notifies the peer; the consumer gets no more events.
  [[nodiscard]] Result<void, CmError> Destroy(wire::CommId id, CmStep& step);

  [[nodiscard]] SidrExchanges& sidr() { return sidr_; }

  // A datagram for the general services queue pair, from the MAD header on.
  void OnDatagram(std::span<const std::byte> mad, const CmPeer& from, CmStep& step);

  // Handles a bounded number of due timers. True if it must be called again.
  bool OnTime(CmStep& step);
  [[nodiscard]] Time next_time() const;

  // nullptr if there is none.
  [[nodiscard]] const CmConnection* Find(wire::CommId id) { return connections_.Find(id); }
  // The listener for a request for `service` at this local address.
  [[nodiscard]] std::optional<CmListenAddress> FindListener(wire::ServiceId service,
                                                            const IpAddress& local) const {
    return listeners_.Find(service, local);
  }
  [[nodiscard]] bool IsQpFree(QpNumber qp) const { return !directory_.FindLocalQp(qp); }
  [[nodiscard]] std::size_t connection_count() const { return connections_.size(); }
  [[nodiscard]] std::size_t half_open_count() const { return half_open_.size(); }
  [[nodiscard]] const CmCounters& counters() const { return counters_; }
  [[nodiscard]] bool IsConsistent() const;

 private:
  // One input to a connection; call(connection) returns false in a state that does not allow it.
  template <class Call>
  Result<void, CmError> Apply(wire::CommId id, Call call);
  void UpdateTables(wire::CommId id, CmState before, uint64_t retransmissions);

  // cm_manager_messages.cc
  void OnReq(const wire::CmMad& mad, const wire::CmReq& req, const CmPeer& from, CmStep& step);
  void OnKnownReq(wire::CommId id, const wire::CmMad& mad, const wire::CmReq& req, CmStep& step);
  [[nodiscard]] std::optional<wire::CmRejectReason> WhyNot(const wire::CmReq& req,
                                                           const CmPeer& from, CmStep& step);
  // Whether there is a place for a half-open connection with this peer: another may lose its own.
  [[nodiscard]] bool MakePlaceFor(const CmPeer& from, CmStep& step);
  void EndStale(const CmPeer& from, wire::CaGuid guid, QpNumber qp, CmStep& step);
  void OnRep(const wire::CmMad& mad, const wire::CmRep& rep, const CmPeer& from, CmStep& step);
  void OnRej(const wire::CmRej& rej, const CmPeer& from, CmStep& step);
  void OnDreq(const wire::CmMad& mad, const wire::CmDreq& dreq, const CmPeer& from, CmStep& step);
  void OnLap(const wire::CmMad& mad, const wire::CmLap& lap, const CmPeer& from, CmStep& step);
  template <class Message>
  void OnOther(const Message& message, const CmPeer& from, CmStep& step);
  [[nodiscard]] CmConnection* FindFrom(const CmPeer& from, wire::CommId local_id,
                                       wire::CommId remote_id);

  const CmOptions options_;
  CmCounters counters_;
  CmListeners listeners_;
  CmTable<CmConnection, wire::CommId> connections_;
  CmDirectory directory_;
  SidrExchanges sidr_;
  HalfOpen half_open_;
};

template <class Call>
Result<void, CmError> CmManager::Apply(wire::CommId id, Call call) {
  CmConnection* const connection = connections_.Find(id);
  if (connection == nullptr) return Fail(CmError::kUnknownId);
  const CmState before = connection->state();
  const uint64_t retransmissions = connection->retransmissions();
  if (!call(*connection)) return Fail(CmError::kWrongState);
  UpdateTables(id, before, retransmissions);
  return {};
}

}  // namespace verbena::transport
