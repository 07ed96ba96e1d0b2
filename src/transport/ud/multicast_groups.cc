#include "transport/ud/multicast_groups.h"

#include <algorithm>

#include "base/check.h"

namespace verbena::transport {

const char* NameOf(MulticastError error) {
  switch (error) {
    case MulticastError::kNotMulticast:
      return "the GID is not a multicast one";
    case MulticastError::kTooManyGroups:
      return "too many groups";
    case MulticastError::kTooManyMembers:
      return "too many queue pairs in the group";
    case MulticastError::kNotAttached:
      return "the queue pair is not attached to the group";
  }
  UNREACHABLE();
}

// RFC 4291 §2.7 and RFC 1112 §4.
bool IsMulticast(const IpAddress& gid) {
  if (const auto ipv4 = gid.ipv4()) return ipv4->value() >> 28 == 0xE;
  return gid.bytes[0] == 0xFF;
}

Result<void, MulticastError> MulticastGroups::Attach(const IpAddress& group, QpNumber qp) {
  if (!IsMulticast(group)) return Fail(MulticastError::kNotMulticast);
  const auto found = groups_.find(group.bytes);
  if (found == groups_.end()) {
    if (groups_.size() >= limits_.groups) return Fail(MulticastError::kTooManyGroups);
    if (limits_.members == 0) return Fail(MulticastError::kTooManyMembers);
    groups_.emplace(group.bytes, std::vector{qp});
    return {};
  }
  std::vector<QpNumber>& members = found->second;
  if (std::ranges::find(members, qp) != members.end()) return {};
  if (members.size() >= limits_.members) return Fail(MulticastError::kTooManyMembers);
  members.push_back(qp);
  return {};
}

Result<void, MulticastError> MulticastGroups::Detach(const IpAddress& group, QpNumber qp) {
  const auto found = groups_.find(group.bytes);
  if (found == groups_.end() || std::erase(found->second, qp) == 0) {
    return Fail(MulticastError::kNotAttached);
  }
  if (found->second.empty()) groups_.erase(found);
  return {};
}

std::span<const QpNumber> MulticastGroups::MembersOf(const IpAddress& group) const {
  const auto found = groups_.find(group.bytes);
  if (found == groups_.end()) return {};
  return found->second;
}

bool MulticastGroups::IsAttached(QpNumber qp) const {
  return std::ranges::any_of(groups_, [qp](const auto& group) {
    return std::ranges::find(group.second, qp) != group.second.end();
  });
}

bool MulticastGroups::IsConsistent() const {
  return groups_.size() <= limits_.groups && std::ranges::all_of(groups_, [this](const auto& g) {
           return !g.second.empty() && g.second.size() <= limits_.members;
         });
}

}  // namespace verbena::transport
