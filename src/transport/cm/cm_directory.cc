#include "transport/cm/cm_directory.h"

#include "base/check.h"

namespace verbena::transport {
namespace {

RemoteKey RequestKey(const CmConnection& connection) {
  return {connection.peer(), connection.remote_guid(), connection.remote_id()->value()};
}

RemoteKey QpKey(const CmConnection& connection) {
  return {connection.peer(), connection.remote_guid(), connection.remote_qp()->value()};
}

template <class Map, class Key>
std::optional<wire::CommId> FindIn(const Map& map, const Key& key) {
  const auto found = map.find(key);
  if (found == map.end()) return std::nullopt;
  return found->second;
}

// Erases only this connection's own entry: two requests may have used one QP.
template <class Map, class Key>
void RemoveFrom(Map& map, const Key& key, wire::CommId id) {
  const auto found = map.find(key);
  if (found != map.end() && found->second == id) map.erase(found);
}

}  // namespace

CmDirectory::CmDirectory(std::size_t connections_max) {
  // So that no insertion rehashes; each connection allocates only its own nodes.
  requests_.reserve(connections_max);
  remote_qps_.reserve(connections_max);
  local_qps_.reserve(connections_max);
}

std::optional<wire::CommId> CmDirectory::FindRequest(const CmPeer& from, wire::CaGuid guid,
                                                     wire::CommId remote_id) const {
  return FindIn(requests_, RemoteKey{from, guid, remote_id.value()});
}

std::optional<wire::CommId> CmDirectory::FindRemoteQp(const CmPeer& from, wire::CaGuid guid,
                                                      QpNumber qp) const {
  return FindIn(remote_qps_, RemoteKey{from, guid, qp.value()});
}

std::optional<wire::CommId> CmDirectory::FindLocalQp(QpNumber qp) const {
  return FindIn(local_qps_, qp);
}

void CmDirectory::Update(const CmConnection& connection) {
  const wire::CommId id = connection.local_id();
  if (!connection.is_active()) requests_.try_emplace(RequestKey(connection), id);
  if (connection.remote_qp()) remote_qps_.try_emplace(QpKey(connection), id);
  if (connection.local_qp()) local_qps_.try_emplace(*connection.local_qp(), id);
  DCHECK(Has(connection));
}

void CmDirectory::Remove(const CmConnection& connection) {
  const wire::CommId id = connection.local_id();
  if (!connection.is_active()) RemoveFrom(requests_, RequestKey(connection), id);
  if (connection.remote_qp()) RemoveFrom(remote_qps_, QpKey(connection), id);
  if (connection.local_qp()) RemoveFrom(local_qps_, *connection.local_qp(), id);
}

bool CmDirectory::Has(const CmConnection& connection) const {
  const wire::CommId id = connection.local_id();
  return (connection.is_active() || FindIn(requests_, RequestKey(connection)) == id) &&
         (!connection.remote_qp() || FindIn(remote_qps_, QpKey(connection)) == id) &&
         (!connection.local_qp() || FindLocalQp(*connection.local_qp()) == id);
}

}  // namespace verbena::transport
