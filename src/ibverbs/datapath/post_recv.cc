// ibv_post_recv and ibv_post_srq_recv.

#include <cerrno>
#include <string_view>

#include "ibverbs/datapath/post.h"
#include "ibverbs/failure.h"
#include "ibverbs/objects/qp.h"
#include "verbena/options.h"

namespace verbena::ibverbs {
namespace {

template <class Queue>
int PostAll(std::string_view call, const Queue& queue, ibv_recv_wr* request,
            ibv_recv_wr** refused) {
  for (ibv_recv_wr* wr = request; wr != nullptr; wr = wr->next) {
    int error = EINVAL;
    if (wr->num_sge >= 0 && static_cast<uint32_t>(wr->num_sge) <= kSgesMax) {
      error = Posted(call, queue.Post(Receive{.id = WrId{wr->wr_id},
                                              .data = ToSges(wr->sg_list, wr->num_sge)}));
    }
    if (error != 0) {
      *refused = wr;
      return error;
    }
  }
  return 0;
}

}  // namespace

int PostReceive(ibv_qp* qp, ibv_recv_wr* request, ibv_recv_wr** refused) noexcept {
  if (qp->srq != nullptr) {
    *refused = request;
    return EINVAL;
  }
  return PostAll("ibv_post_recv", Cast(qp).handle, request, refused);
}

int PostSrqReceive(ibv_srq* srq, ibv_recv_wr* request, ibv_recv_wr** refused) noexcept {
  return PostAll("ibv_post_srq_recv", Cast(srq).handle, request, refused);
}

}  // namespace verbena::ibverbs
