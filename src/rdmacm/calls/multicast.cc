// Multicast groups of datagram ids.

#include <cxxabi.h>
#include <rdma/rdma_cma.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/error.h"
#include "base/result.h"
#include "rdmacm/failure.h"
#include "rdmacm/objects/address.h"
#include "rdmacm/objects/completion.h"
#include "rdmacm/objects/group.h"
#include "rdmacm/objects/id.h"
#include "rdmacm/objects/path.h"

namespace verbena::rdmacm {
namespace {

ErrorOr<void> Join(Id& id, const CmAddress& address, bool send_only, void* context) {
  if (!IsDatagram(id))
    return Fail(Invalid("only ids for datagrams (RDMA_PS_UDP) can join a group"));
  if (id.state != IdState::kBound && id.state != IdState::kAddressResolved) {
    return Fail(Invalid("the id has no address, or is connected"));
  }
  if (auto ok = AttachDevice(id); !ok) return ok;
  if (IsWildcard(LocalOf(id).ip)) return Fail(SystemError(ENODEV, "the id has no address"));
  auto group = std::make_shared<Group>(
      Group{.address = address, .context = context, .send_only = send_only});
  {
    const MutexLock lock(id.mutex);
    id.groups.push_back(group);
  }
  auto posted = PostEvent(id, {.type = RDMA_CM_EVENT_MULTICAST_JOIN, .group = group});
  if (!posted) {
    const MutexLock lock(id.mutex);
    id.groups.remove(group);
  }
  return posted;
}

ErrorOr<void> Leave(Id& id, const CmAddress& address) {
  const MutexLock lock(id.mutex);
  const auto found = std::ranges::find_if(
      id.groups, [&](const std::shared_ptr<Group>& group) { return group->address == address; });
  if (found == id.groups.end()) {
    return Fail(SystemError(EADDRNOTAVAIL, "the id has not joined this group"));
  }
  const std::shared_ptr<Group> group = *found;
  id.groups.erase(found);
  // The event of the join may still be in the channel.
  std::erase_if(id.posted, [&](const PostedEvent& event) { return event.group == group; });
  Detach(id, *group);
  return {};
}

int JoinAndComplete(rdma_cm_id* id, const sockaddr* address, bool send_only, void* context,
                    const char* call) {
  if (id == nullptr || LengthOf(address) == 0) return MinusOne(EINVAL);
  const auto ok = Join(Cast(id), FromSockaddr(*address), send_only, context);
  return ok ? Complete(Cast(id)) : Failed(call, ok.error());
}

}  // namespace
}  // namespace verbena::rdmacm

using namespace verbena::rdmacm;  // NOLINT(google-build-using-namespace): the calls are global

int rdma_join_multicast(rdma_cm_id* id, sockaddr* address, void* context) try {
  return JoinAndComplete(id, address, false, context, "rdma_join_multicast");
} catch (abi::__forced_unwind&) {
  throw;  // pthread_cancel of a thread in a synchronous call
} catch (...) {
  return MinusOne(Thrown("rdma_join_multicast"));
}

int rdma_join_multicast_ex(rdma_cm_id* id, rdma_cm_join_mc_attr_ex* attributes, void* context) try {
  constexpr uint32_t kNeeded = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
  if (attributes == nullptr) return MinusOne(EINVAL);
  if (attributes->comp_mask >= RDMA_CM_JOIN_MC_ATTR_RESERVED) return MinusOne(ENOTSUP);
  if (attributes->comp_mask != kNeeded || attributes->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED) {
    return MinusOne(EINVAL);
  }
  return JoinAndComplete(id, attributes->addr,
                         attributes->join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER, context,
                         "rdma_join_multicast_ex");
} catch (abi::__forced_unwind&) {
  throw;  // pthread_cancel of a thread in a synchronous call
} catch (...) {
  return MinusOne(Thrown("rdma_join_multicast_ex"));
}

int rdma_leave_multicast(rdma_cm_id* id, sockaddr* address) try {
  if (id == nullptr || LengthOf(address) == 0) return MinusOne(EINVAL);
  const auto ok = Leave(Cast(id), FromSockaddr(*address));
  return ok ? 0 : Failed("rdma_leave_multicast", ok.error());
} catch (...) {
  return MinusOne(Thrown("rdma_leave_multicast"));
}
