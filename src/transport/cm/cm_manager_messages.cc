// Received messages; see cm_manager.h.

#include <array>
#include <type_traits>
#include <variant>

#include "base/byte_reader.h"
#include "base/check.h"
#include "transport/cm/cm_manager.h"

namespace verbena::transport {

using wire::CmRejectReason;
using wire::CmSubject;

namespace {

// An extended transport other than XRC, or an invalid MTU.
std::optional<CmRejectReason> InvalidityOf(const wire::CmReq& req) {
  constexpr uint8_t kXrc = 1;
  if (req.service_type == wire::CmServiceType::kRd) return CmRejectReason::kInvalidTransportType;
  if (req.service_type == wire::CmServiceType::kExtended && req.extended_transport != kXrc) {
    return CmRejectReason::kInvalidTransportType;
  }
  if (!IsDefined(req.path_mtu)) return CmRejectReason::kInvalidPathMtu;
  return std::nullopt;
}

// Sends a REJ that belongs to no connection.
void SendRej(const wire::CmMad& to_what, const CmPeer& to, const wire::CmRej& rej, CmStep& step) {
  step.outbox.datagrams.push_back({to, {to_what.transaction, rej}});
}

}  // namespace

void CmManager::OnDatagram(std::span<const std::byte> bytes, const CmPeer& from, CmStep& step) {
  const auto mad = wire::CmMad::Parse(bytes);
  if (!mad) {
    ++counters_.malformed;
    return;
  }
  std::visit(
      [&](const auto& message) {
        using Message = std::decay_t<decltype(message)>;
        if constexpr (std::is_same_v<Message, wire::CmReq>) {
          OnReq(*mad, message, from, step);
        } else if constexpr (std::is_same_v<Message, wire::CmRep>) {
          OnRep(*mad, message, from, step);
        } else if constexpr (std::is_same_v<Message, wire::CmRej>) {
          OnRej(message, from, step);
        } else if constexpr (std::is_same_v<Message, wire::CmDreq>) {
          OnDreq(*mad, message, from, step);
        } else if constexpr (std::is_same_v<Message, wire::CmLap>) {
          OnLap(*mad, message, from, step);
        } else if constexpr (std::is_same_v<Message, wire::CmSidrReq>) {
          const bool is_served = listeners_.Has(message.service_id, from.local);
          sidr_.OnRequest(message, mad->transaction, from, is_served, step);
        } else if constexpr (std::is_same_v<Message, wire::CmSidrRep>) {
          sidr_.OnResponse(message, from, step);
        } else if constexpr (std::is_same_v<Message, wire::CmApr>) {
          ++counters_.unknown;  // no LAP was sent
        } else {
          OnOther(message, from, step);
        }
      },
      mad->message);
  DCHECK(IsConsistent());
}

CmConnection* CmManager::FindFrom(const CmPeer& from, wire::CommId local_id,
                                  wire::CommId remote_id) {
  CmConnection* const connection = connections_.Find(local_id);
  if (connection != nullptr && connection->IsFrom(from, remote_id)) {
    connection->LearnPeer(from);
    return connection;
  }
  ++counters_.unknown;
  return nullptr;
}

void CmManager::OnReq(const wire::CmMad& mad, const wire::CmReq& req, const CmPeer& from,
                      CmStep& step) {
  if (const auto id = directory_.FindRequest(from, req.local_ca_guid, req.local_comm_id)) {
    return OnKnownReq(*id, mad, req, step);
  }
  std::optional<CmRejectReason> reason = WhyNot(req, from, step);
  std::optional<wire::CommId> id;
  if (!reason) {
    id = connections_.Insert(CmConnection(options_, from));
    if (!id) {
      ++counters_.refused_full;
      reason = CmRejectReason::kNoResources;
    }
  }
  if (reason) {
    const wire::CmRej rej{.remote_comm_id = req.local_comm_id, .reason = *reason};
    SendRej(mad, from, rej, step);
    if (*reason == CmRejectReason::kStaleConnection) {
      EndStale(from, req.local_ca_guid, req.local_qp, step);
    }
    return;
  }
  connections_.Find(*id)->OnRequest(*id, req, mad.transaction, step);
  UpdateTables(*id, CmState::kClosed, 0);
}

void CmManager::OnKnownReq(wire::CommId id, const wire::CmMad& mad, const wire::CmReq& req,
                           CmStep& step) {
  ++counters_.duplicates;
  const CmConnection& known = *connections_.Find(id);
  if (!known.IsDuplicate(req)) {
    const wire::CmRej rej{.remote_comm_id = req.local_comm_id,
                          .reason = known.state() == CmState::kTimeWait
                                        ? CmRejectReason::kStaleConnection
                                        : CmRejectReason::kDuplicateCommId};
    return SendRej(mad, known.peer(), rej, step);
  }
  (void)Apply(id, [&](CmConnection& connection) {
    connection.OnDuplicateReq(step);
    return true;
  });
}

// Checks a new REQ. The most useful reason for the peer comes first.
std::optional<CmRejectReason> CmManager::WhyNot(const wire::CmReq& req, const CmPeer& from,
                                                CmStep& step) {
  if (!listeners_.Has(req.service_id, from.local)) {
    ++counters_.refused_no_listener;
    return CmRejectReason::kInvalidServiceId;
  }
  if (const auto invalidity = InvalidityOf(req)) {
    ++counters_.refused_invalid;
    return invalidity;
  }
  if (directory_.FindRemoteQp(from, req.local_ca_guid, req.local_qp)) {
    ++counters_.refused_stale;
    return CmRejectReason::kStaleConnection;
  }
  if (listeners_.IsFull(req.service_id, from.local)) {
    ++counters_.refused_backlog;
    return CmRejectReason::kNoResources;
  }
  if (!MakePlaceFor(from, step)) {
    ++counters_.refused_half_open;
    return CmRejectReason::kNoResources;
  }
  return std::nullopt;
}

bool CmManager::MakePlaceFor(const CmPeer& from, CmStep& step) {
  if (half_open_.size() < options_.half_open_max) return true;
  const auto victim = half_open_.FindVictimFor(from.address);
  if (!victim) return false;
  ++counters_.gave_way;
  (void)Apply(*victim, [&](CmConnection& connection) {
    connection.GiveWay(step);
    return true;
  });
  return true;
}

// IBA 12.9.8.3.1: a peer whose request has the QP of an existing connection has lost that
// connection. After the REJ, a DREQ ends it, and the peer may try again.
void CmManager::EndStale(const CmPeer& from, wire::CaGuid guid, QpNumber qp, CmStep& step) {
  const auto id = directory_.FindRemoteQp(from, guid, qp);
  if (id && connections_.Find(*id)->state() == CmState::kEstablished) {
    CHECK(Disconnect(*id, {}, step).has_value());
  }
}

void CmManager::OnRep(const wire::CmMad& mad, const wire::CmRep& rep, const CmPeer& from,
                      CmStep& step) {
  const CmConnection* const known = FindFrom(from, rep.remote_comm_id, rep.local_comm_id);
  const bool is_first = known != nullptr && !known->remote_id();
  const bool is_late = is_first && known->state() == CmState::kTimeWait;
  if (known == nullptr || !known->is_active() || is_late) {
    return SendRej(mad, from,
                   {.local_comm_id = rep.remote_comm_id,
                    .remote_comm_id = rep.local_comm_id,
                    .rejected = CmSubject::kRep,
                    .reason = CmRejectReason::kInvalidCommId},
                   step);
  }
  if (!is_first || !directory_.FindRemoteQp(from, rep.local_ca_guid, rep.local_qp)) {
    return OnOther(rep, from, step);
  }
  ++counters_.refused_stale;
  (void)Apply(rep.remote_comm_id, [&](CmConnection& connection) {
    connection.OnStaleRep(rep, step);
    return true;
  });
  EndStale(from, rep.local_ca_guid, rep.local_qp, step);
}

void CmManager::OnRej(const wire::CmRej& rej, const CmPeer& from, CmStep& step) {
  if (rej.remote_comm_id != wire::CommId()) return OnOther(rej, from, step);
  // IBA 12.6.7.2: the peer gave up before it learned our id. Its GUID is in the additional
  // information.
  const auto guid = ByteReader<8>::From(rej.info.bytes);
  if (rej.reason != CmRejectReason::kTimeout || rej.info_length < 8) {
    ++counters_.unknown;
    return;
  }
  const auto id = directory_.FindRequest(from, wire::CaGuid(guid->Load64<0>()), rej.local_comm_id);
  if (!id) {
    ++counters_.unknown;
    return;
  }
  (void)Apply(*id, [&](CmConnection& connection) {
    connection.OnMessage(rej, step);
    return true;
  });
}

void CmManager::OnDreq(const wire::CmMad& mad, const wire::CmDreq& dreq, const CmPeer& from,
                       CmStep& step) {
  const CmConnection* const known = FindFrom(from, dreq.remote_comm_id, dreq.local_comm_id);
  if (known == nullptr || !known->remote_id()) {
    // IBA 12.9.6: the connection is already over on this side.
    const wire::CmDrep drep{.local_comm_id = dreq.remote_comm_id,
                            .remote_comm_id = dreq.local_comm_id};
    step.outbox.datagrams.push_back({from, {mad.transaction, drep}});
    return;
  }
  (void)Apply(dreq.remote_comm_id, [&](CmConnection& connection) {
    connection.OnDreq(dreq, mad.transaction, step);
    return true;
  });
}

// IBA 12.8: alternate paths are not supported.
void CmManager::OnLap(const wire::CmMad& mad, const wire::CmLap& lap, const CmPeer& from,
                      CmStep& step) {
  const bool is_known = FindFrom(from, lap.remote_comm_id, lap.local_comm_id) != nullptr;
  ++counters_.refused_laps;
  const wire::CmApr apr{
      .local_comm_id = lap.remote_comm_id,
      .remote_comm_id = lap.local_comm_id,
      .status = is_known ? wire::CmAprStatus::kUnsupported : wire::CmAprStatus::kInvalidCommId};
  step.outbox.datagrams.push_back({from, {mad.transaction, apr}});
}

template <class Message>
void CmManager::OnOther(const Message& message, const CmPeer& from, CmStep& step) {
  if (FindFrom(from, message.remote_comm_id, message.local_comm_id) == nullptr) return;
  (void)Apply(message.remote_comm_id, [&](CmConnection& connection) {
    connection.OnMessage(message, step);
    return true;
  });
}

}  // namespace verbena::transport
