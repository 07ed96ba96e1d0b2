#include "verbs/objects.h"

#include <algorithm>

#include "verbs/convert.h"

namespace verbena::verbs {

// The adapter refuses to destroy a queue pair that is in a group.
QpObject::~QpObject() {
  const MutexLock lock(groups_mutex);
  for (const IpAddress& group : groups) {
    static_cast<void>(device.DetachMulticast(*thing, group));
  }
}

ErrorOr<void> QpObject::JoinGroup(const IpAddress& group) {
  const MutexLock lock(groups_mutex);
  groups.reserve(groups.size() + 1);
  auto joined = device.AttachMulticast(*thing, group);
  if (joined && std::ranges::find(groups, group) == groups.end()) groups.push_back(group);
  return joined;
}

ErrorOr<void> QpObject::LeaveGroup(const IpAddress& group) {
  const MutexLock lock(groups_mutex);
  auto left = device.DetachMulticast(*thing, group);
  if (left) std::erase(groups, group);
  return left;
}

}  // namespace verbena::verbs
