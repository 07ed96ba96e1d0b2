#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>

#include "transport/cm/cm_connection.h"
#include "transport/cm/remote_key.h"
#include "verbena/ip_address.h"
#include "wire/mad/cm_types.h"
#include "wire/roce/types.h"

namespace verbena::transport {

// Finds connections by keys other than their local id: by the id of the requesting peer, to
// recognize a retransmitted REQ; by the peer's QP, to notice a stale connection; and by the local
// QP, which no two connections share. All in constant time.
//
// Invariant: a connection is here under all its keys, from Add or Update to Remove. Owned by
// CmManager; one thread at a time.
class CmDirectory {
 public:
  explicit CmDirectory(std::size_t connections_max);

  [[nodiscard]] std::optional<wire::CommId> FindRequest(const CmPeer& from, wire::CaGuid guid,
                                                        wire::CommId remote_id) const;
  [[nodiscard]] std::optional<wire::CommId> FindRemoteQp(const CmPeer& from, wire::CaGuid guid,
                                                         QpNumber qp) const;
  [[nodiscard]] std::optional<wire::CommId> FindLocalQp(QpNumber qp) const;

  // Adds the keys that `connection` has got since.
  void Update(const CmConnection& connection);
  void Remove(const CmConnection& connection);

  [[nodiscard]] std::size_t size() const {
    return requests_.size() + remote_qps_.size() + local_qps_.size();
  }
  // Whether `connection` is found by all its keys.
  [[nodiscard]] bool Has(const CmConnection& connection) const;

 private:
  std::unordered_map<RemoteKey, wire::CommId, RemoteKeyHash> requests_;
  std::unordered_map<RemoteKey, wire::CommId, RemoteKeyHash> remote_qps_;
  std::unordered_map<QpNumber, wire::CommId> local_qps_;
};

}  // namespace verbena::transport
