// Multicast groups of datagram queue pairs.

#include <infiniband/verbs.h>

#include <cerrno>

#include "ibverbs/failure.h"
#include "ibverbs/objects/address_vector.h"
#include "ibverbs/objects/qp.h"

using namespace verbena::ibverbs;  // NOLINT(google-build-using-namespace): the verbs are global

// The LID is ignored: a subnet manager assigns the LIDs of groups, and there is none.
int ibv_attach_mcast(ibv_qp* qp, const ibv_gid* gid, uint16_t /*lid*/) try {
  if (qp->qp_type != IBV_QPT_UD) return EINVAL;
  const auto ok = Cast(qp).handle.AttachMulticast(FromVerbs(*gid));
  return ok ? 0 : Failed("ibv_attach_mcast", ok.error());
} catch (...) {
  return Thrown("ibv_attach_mcast");
}

int ibv_detach_mcast(ibv_qp* qp, const ibv_gid* gid, uint16_t /*lid*/) try {
  if (qp->qp_type != IBV_QPT_UD) return EINVAL;
  const auto ok = Cast(qp).handle.DetachMulticast(FromVerbs(*gid));
  return ok ? 0 : Failed("ibv_detach_mcast", ok.error());
} catch (...) {
  return Thrown("ibv_detach_mcast");
}
