#include "rdmacm/objects/group.h"

#include <infiniband/verbs.h>

#include "base/error.h"
#include "base/result.h"
#include "rdmacm/objects/address.h"
#include "rdmacm/objects/path.h"

namespace verbena::rdmacm {

ErrorOr<void> FinishJoin(const Id& id, Group& group, rdma_ud_param& param) {
  constexpr uint32_t kMulticastQp = 0xFFFFFF;  // IBA 3.5.11.1
  const auto path = AddressTo(id, group.address.ip);
  if (!path) return Fail(path.error());
  if (id.qp != nullptr && !group.send_only) {
    const ibv_gid gid = ToGid(group.address.ip);
    if (const int error = ibv_attach_mcast(id.qp, &gid, 0); error != 0) {
      return Fail(SystemError(error, "the queue pair cannot join " + ToString(group.address.ip)));
    }
    group.is_attached = true;
  }
  param.private_data = group.context;
  param.ah_attr = *path;
  param.qp_num = kMulticastQp;
  param.qkey = RDMA_UDP_QKEY;
  return {};
}

void Detach(const Id& id, Group& group) {
  if (!group.is_attached || id.qp == nullptr) return;
  const ibv_gid gid = ToGid(group.address.ip);
  static_cast<void>(ibv_detach_mcast(id.qp, &gid, 0));
  group.is_attached = false;
}

}  // namespace verbena::rdmacm
