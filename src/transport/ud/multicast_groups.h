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
  kNotMulticast,  // the GID names no group
  kTooManyGroups,
  kTooManyMembers,  // of one group
  kNotAttached,
};

const char* NameOf(MulticastError error);

// Whether a GID names a group: an IPv6 multicast address, or an IPv4 one in its mapped form.
[[nodiscard]] bool IsMulticast(const IpAddress& gid);

// Which queue pairs get the datagrams of which multicast groups (IBA 10.5). A group is there as
// long as it has members.
//
// Owned by the adapter, on the thread that dispatches packets.
class MulticastGroups {
 public:
  struct Limits {
    size_t groups = 0;
    size_t members = 0;  // of each group
  };

  explicit MulticastGroups(const Limits& limits) : limits_(limits) {}

  // To attach twice is to attach once.
  [[nodiscard]] Result<void, MulticastError> Attach(const IpAddress& group, QpNumber qp);
  [[nodiscard]] Result<void, MulticastError> Detach(const IpAddress& group, QpNumber qp);

  // In the order in which they came; none for a group that is not there. Good until a change.
  [[nodiscard]] std::span<const QpNumber> MembersOf(const IpAddress& group) const;

  // In any group: then the queue pair must not be destroyed.
  [[nodiscard]] bool IsAttached(QpNumber qp) const;

  [[nodiscard]] size_t group_count() const { return groups_.size(); }

  [[nodiscard]] bool IsConsistent() const;

 private:
  using Key = std::array<uint8_t, 16>;

  const Limits limits_;
  std::map<Key, std::vector<QpNumber>> groups_;
};

}  // namespace verbena::transport
