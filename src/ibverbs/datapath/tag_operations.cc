// ibv_post_srq_ops: adds and removes the tagged receives of a tag matching SRQ.

#include <infiniband/verbs.h>

#include <cerrno>

#include "ibverbs/datapath/post.h"
#include "ibverbs/failure.h"
#include "ibverbs/objects/objects.h"
#include "ibverbs/objects/srq.h"
#include "verbena/options.h"

namespace verbena::ibverbs {
namespace {

static_assert(static_cast<int>(TagOperation::Kind::kAdd) == IBV_WR_TAG_ADD);
static_assert(static_cast<int>(TagOperation::Kind::kRemove) == IBV_WR_TAG_DEL);
static_assert(static_cast<int>(TagOperation::Kind::kSynchronize) == IBV_WR_TAG_SYNC);

int PostOne(const Srq& srq, ibv_ops_wr& from) {
  constexpr int kFlags = IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC;
  if (from.opcode > IBV_WR_TAG_SYNC || (from.flags & ~kFlags) != 0) return EINVAL;
  TagOperation operation{.kind = static_cast<TagOperation::Kind>(from.opcode),
                         .id = WrId{from.wr_id},
                         .signaled = (from.flags & IBV_OPS_SIGNALED) != 0,
                         .handle = TagHandle{from.tm.handle}};
  if ((from.flags & IBV_OPS_TM_SYNC) != 0) operation.seen = from.tm.unexpected_cnt;
  if (from.opcode == IBV_WR_TAG_ADD) {
    const auto& add = from.tm.add;
    if (add.num_sge < 0 || static_cast<uint32_t>(add.num_sge) > kSgesMax) return EINVAL;
    operation.receive_id = WrId{add.recv_wr_id};
    operation.tag = add.tag;
    operation.mask = add.mask;
    operation.data = ToSges(add.sg_list, add.num_sge);
  }
  const auto handle = srq.handle.ChangeTags(operation);
  if (!handle) return ErrnoOf(handle.error());
  if (from.opcode == IBV_WR_TAG_ADD) from.tm.handle = handle->value();
  return 0;
}

}  // namespace

int PostSrqOperations(ibv_srq* srq, ibv_ops_wr* operations, ibv_ops_wr** refused) noexcept {
  for (ibv_ops_wr* one = operations; one != nullptr; one = one->next) {
    if (const int error = PostOne(Cast(srq), *one); error != 0) {
      *refused = one;
      return error;
    }
  }
  return 0;
}

}  // namespace verbena::ibverbs
