#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "verbena/ip_address.h"
#include "wire/mad/cm_types.h"

namespace verbena::transport {

// The half-open connections of a manager, by the address of the peer that asked for them. When all
// places are taken, the peer with the most gives one up for a peer with fewer: so one peer, whose
// requests say how long they are kept, cannot keep the others from connecting.
//
// Invariant: each source has at least one place. Owned by CmManager; one thread at a time.
class HalfOpen {
 public:
  void Add(wire::CommId id, const IpAddress& source);
  void Remove(wire::CommId id);

  [[nodiscard]] std::size_t size() const { return places_.size(); }
  // The oldest connection of the source that has the most, if that has at least two more than
  // `source`: with one more, the two would take the place from each other in turn.
  [[nodiscard]] std::optional<wire::CommId> FindVictimFor(const IpAddress& source) const;

  [[nodiscard]] bool IsConsistent() const;

 private:
  struct Place {
    IpAddress source;
    uint64_t number;
  };
  using Source = std::map<uint64_t, wire::CommId>;  // the oldest first

  void Recount(const IpAddress& source, std::size_t before, std::size_t after);

  std::unordered_map<wire::CommId, Place> places_;
  std::map<IpAddress, Source> sources_;
  std::set<std::pair<std::size_t, IpAddress>> by_count_;  // of sources_
  uint64_t next_number_ = 0;
};

}  // namespace verbena::transport
