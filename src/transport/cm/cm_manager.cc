#include "transport/cm/cm_manager.h"

#include <algorithm>

#include "base/check.h"

namespace verbena::transport {
namespace {

// Bounded, so that other inputs are handled in between.
constexpr int kDueAtOnce = 64;

}  // namespace

CmManager::CmManager(const CmOptions& options)
    : options_(options),
      listeners_(options.listeners_max),
      connections_(options.connections_max, options.id_mask),
      directory_(options.connections_max),
      sidr_(options_, counters_) {
  // Otherwise a datagram could arrive after its connection was forgotten.
  CHECK(options.time_wait >= 2 * options.packet_life);
}

Result<void, CmError> CmManager::Listen(const CmListenAddress& at, std::size_t backlog) {
  return listeners_.Add(at, backlog);
}

Result<void, CmError> CmManager::StopListening(const CmListenAddress& at) {
  return listeners_.Remove(at);
}

// Updates the tables after an input: the keys of the connection, the counts of its states, its
// deadline, or its removal.
void CmManager::UpdateTables(wire::CommId id, CmState before, uint64_t retransmissions) {
  const CmConnection& connection = *connections_.Find(id);
  const CmState after = connection.state();
  counters_.retransmissions += connection.retransmissions() - retransmissions;
  if (IsHalfOpen(after) && !IsHalfOpen(before)) half_open_.Add(id, connection.peer().address);
  if (IsHalfOpen(before) && !IsHalfOpen(after)) half_open_.Remove(id);
  if (IsPending(after) && !IsPending(before))
    listeners_.AddWaiting(connection.service_id(), connection.peer().local);
  if (IsPending(before) && !IsPending(after))
    listeners_.RemoveWaiting(connection.service_id(), connection.peer().local);
  if (after != CmState::kClosed) {
    directory_.Update(connection);
    connections_.UpdateDeadline(id);
  } else {
    directory_.Remove(connection);
    connections_.Erase(id);
  }
}

Result<wire::CommId, CmError> CmManager::Connect(const wire::CmReq& req, const CmPeer& to,
                                                 CmStep& step) {
  if (!IsQpFree(req.local_qp)) return Fail(CmError::kQpInUse);
  const auto id = connections_.Insert(CmConnection(options_, to));
  if (!id) return Fail(CmError::kTooManyConnections);
  connections_.Find(*id)->Connect(*id, req, step);
  UpdateTables(*id, CmState::kClosed, 0);
  return *id;
}

Result<void, CmError> CmManager::Accept(wire::CommId id, const wire::CmRep& rep, CmStep& step) {
  if (!IsQpFree(rep.local_qp)) return Fail(CmError::kQpInUse);
  return Apply(id, [&](CmConnection& connection) { return connection.Accept(rep, step); });
}

Result<void, CmError> CmManager::Reject(wire::CommId id, const wire::CmRej& rej, CmStep& step) {
  return Apply(id, [&](CmConnection& connection) { return connection.Reject(rej, step); });
}

Result<void, CmError> CmManager::SendMra(wire::CommId id, const wire::CmMra& mra, CmStep& step) {
  return Apply(id, [&](CmConnection& connection) { return connection.SendMra(mra, step); });
}

Result<void, CmError> CmManager::Establish(wire::CommId id, const wire::CmRtu& rtu, CmStep& step) {
  return Apply(id, [&](CmConnection& connection) { return connection.Establish(rtu, step); });
}

Result<void, CmError> CmManager::NotifyEstablished(wire::CommId id, CmStep& step) {
  return Apply(id, [&](CmConnection& connection) { return connection.NotifyEstablished(step); });
}

Result<void, CmError> CmManager::Disconnect(wire::CommId id, const wire::PrivateData<220>& data,
                                            CmStep& step) {
  return Apply(id, [&](CmConnection& connection) { return connection.Disconnect(data, step); });
}

Result<void, CmError> CmManager::Destroy(wire::CommId id, CmStep& step) {
  return Apply(id, [&](CmConnection& connection) {
    connection.Destroy(step);
    return true;
  });
}

bool CmManager::OnTime(CmStep& step) {
  for (int i = 0; i < kDueAtOnce; ++i) {
    if (sidr_.OnTime(step)) continue;
    const auto id = connections_.Due(step.now);
    if (!id) break;
    CHECK(Apply(*id, [&](CmConnection& connection) {
            connection.OnTime(step);
            return true;
          }).has_value());
  }
  DCHECK(IsConsistent());
  return next_time() <= step.now;
}

Time CmManager::next_time() const { return std::min(connections_.next_time(), sidr_.next_time()); }

bool CmManager::IsConsistent() const {
  std::size_t half_open = 0, names = 0;
  bool is_good = connections_.IsConsistent() && sidr_.IsConsistent() && half_open_.IsConsistent();
  connections_.ForEach([&](wire::CommId id, const CmConnection& connection) {
    if (IsHalfOpen(connection.state())) ++half_open;
    names += (connection.is_active() ? 0U : 1U) + (connection.remote_qp() ? 1U : 0U) +
             (connection.local_qp() ? 1U : 0U);
    is_good = is_good && connection.local_id() == id && connection.IsConsistent() &&
              connection.state() != CmState::kClosed && directory_.Has(connection);
  });
  return is_good && half_open == half_open_.size() && names == directory_.size();
}

}  // namespace verbena::transport
