#pragma once

#include <optional>
#include <unordered_map>

#include "base/check.h"
#include "memory/access.h"
#include "queue/ids.h"
#include "transport/common/outbox.h"

namespace verbena::transport {

// The address handles of an adapter: the destinations of datagrams, by the id that the program
// uses. A handle is valid for the queue pairs of its own protection domain.
//
// Owned by the adapter; used by the thread of its queue pairs.
class AddressHandles {
 public:
  // REQUIRES: the id is not in use.
  void Add(AddressHandleId handle, memory::PdId pd, PathId path,
           uint32_t payload_max = OutPacket::kPayloadMax) {
    CHECK(entries_.emplace(handle, Entry{pd, {path, payload_max}}).second);
  }
  // False if there is no such handle.
  bool Remove(AddressHandleId handle) { return entries_.erase(handle) > 0; }

  struct Destination {
    PathId path;
    uint32_t payload_max = 0;  // of a packet to this destination

    friend bool operator==(const Destination&, const Destination&) = default;
  };
  // nullopt if there is no such handle, or if it belongs to another domain.
  [[nodiscard]] std::optional<Destination> Find(AddressHandleId handle, memory::PdId pd) const {
    const auto found = entries_.find(handle);
    if (found == entries_.end() || found->second.pd != pd) return std::nullopt;
    return found->second.destination;
  }

 private:
  struct Entry {
    memory::PdId pd;
    Destination destination;
  };

  std::unordered_map<AddressHandleId, Entry> entries_;
};

}  // namespace verbena::transport
