#pragma once

#include <cstdint>
#include <optional>

#include "adapter/error.h"
#include "adapter/port_map.h"
#include "base/slot_table.h"
#include "fabric/datagram.h"
#include "fabric/machine_addresses.h"
#include "transport/common/outbox.h"
#include "transport/common/qp_attributes.h"
#include "verbena/gid.h"
#include "wire/roce/types.h"

namespace verbena::adapter {

// The default of most systems. Setting it explicitly would only cost time.
inline constexpr uint8_t kUsualHopLimit = 64;

// A path that packets may refer to.
struct Path {
  AddressVector vector;
  bool ends_here = false;  // the destination is an address of this machine
  bool is_multicast = false;
  bool source_is_usual = false;  // see fabric::Route

  [[nodiscard]] bool is_remote() const { return !ends_here && !is_multicast; }
  [[nodiscard]] fabric::Route RouteTo(QpNumber qp, const PortMap& ports) const;
};

// The path MTU for packets to this address, if an IP packet has at most `ip_bytes` bytes.
[[nodiscard]] PathMtu LargestMtuFor(uint32_t ip_bytes, const IpAddress& to);

// Refuses an MTU that is too large for the path, and names the interface. If the system has no
// route, or none yet, nothing is refused.
[[nodiscard]] ErrorOr<void> CheckMtu(const AddressVector& vector, PathMtu mtu);

// The vector as packets use it: a group by its IP address, and the interface that has the source
// address.
[[nodiscard]] AddressVector Resolved(AddressVector vector);

// The address vectors of connected queue pairs and of address handles, by the id that packets
// carry. The id of a path that was removed never refers to another path.
//
// Owned by the adapter; used by one thread at a time, the engine.
class PathTable {
 public:
  PathTable(uint32_t paths_max, const fabric::MachineAddresses& addresses)
      : addresses_(addresses), paths_(paths_max) {}

  // REQUIRES: the vector is Resolved. REFUSES addresses of different families, and more than
  // paths_max.
  [[nodiscard]] ErrorOr<transport::PathId> Add(const AddressVector& vector);
  void Remove(transport::PathId id) { paths_.Erase(id); }
  // A path to another machine was added at some time.
  [[nodiscard]] bool has_remote() const { return has_remote_; }

  // nullptr if there is none.
  [[nodiscard]] const Path* Find(transport::PathId id) const { return paths_.Find(id); }
  [[nodiscard]] size_t size() const { return paths_.size(); }
  [[nodiscard]] bool IsConsistent() const { return paths_.IsConsistent(); }

 private:
  const fabric::MachineAddresses& addresses_;
  SlotTable<Path, transport::PathId, 20> paths_;
  bool has_remote_ = false;
};

}  // namespace verbena::adapter
