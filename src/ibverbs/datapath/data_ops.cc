#include "ibverbs/datapath/data_ops.h"

#include "ibverbs/datapath/post.h"
#include "ibverbs/objects/cq.h"
#include "ibverbs/objects/qp.h"
#include "ibverbs/objects/srq.h"

namespace verbena::ibverbs {

void FillDataOps(verbs_context& context) {
  ibv_context_ops& ops = context.context.ops;
  ops.poll_cq = PollCq;
  ops.req_notify_cq = RequestNotify;
  ops.post_send = PostSend;
  ops.post_recv = PostReceive;
  ops.post_srq_recv = PostSrqReceive;
  ops.bind_mw = BindWindow;

  context.create_cq_ex = CreateCqEx;
  context.modify_cq = ModifyCq;
  context.create_qp_ex = CreateQpEx;
  context.open_qp = OpenQp;
  context.create_srq_ex = CreateSrqEx;
  context.post_srq_ops = PostSrqOperations;
  context.get_srq_num = GetSrqNumber;
}

}  // namespace verbena::ibverbs
