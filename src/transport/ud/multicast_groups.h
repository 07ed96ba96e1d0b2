#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/result.h"
#include "verbena/ip_address.h"
#include "wire/roce/types.h"

namespace verbena::transport {

enum class MulticastError : uint8_t {
  kNotMulticast,  // the GID is no multicast address
  kTooManyGroups,
  kTooManyMembers,  // of one group
  kNotAttached,
};

const char* NameOf(MulticastError error);

// Whether a GID is a multicast address of IPv6, or one of IPv4 in mapped form.
[[nodiscard]] bool IsMulticast(const IpAddress& gid);

// The queue pairs that get the datagrams of each multicast group (IBA 10.5). A group exists as long
// as it has members.
//
// Owned by the adapter; used by the thread that dispatches packets.
class MulticastGroups {
 public:
  struct Limits {
    size_t groups = 0;
    size_t members = 0;  // of each group
  };

  explicit MulticastGroups(const Limits& limits) : limits_(limits) {}

  // Attaching a queue pair twice has no further effect.
  [[nodiscard]] Result<void, MulticastError> Attach(const IpAddress& group, QpNumber qp);
  [[nodiscard]] Result<void, MulticastError> Detach(const IpAddress& group, QpNumber qp);

  // In the order in which they were attached; empty if there is no such group. Valid until a
  // change.
  [[nodiscard]] std::span<const QpNumber> MembersOf(const IpAddress& group) const;

  // In any group. Such a queue pair must not be destroyed.
  [[nodiscard]] bool IsAttached(QpNumber qp) const;

  [[nodiscard]] size_t group_count() const { return groups_.size(); }

  [[nodiscard]] bool IsConsistent() const;

 private:
  using Key = std::array<uint8_t, 16>;

  const Limits limits_;
  std::map<Key, std::vector<QpNumber>> groups_;
};

}  // namespace verbena::transport
