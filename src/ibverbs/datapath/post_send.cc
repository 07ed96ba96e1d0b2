// ibv_post_send: converts and posts work requests, single or in a chain.

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <string_view>

#include "ibverbs/datapath/bind.h"
#include "ibverbs/datapath/numbers.h"
#include "ibverbs/datapath/post.h"
#include "ibverbs/datapath/send_flags.h"
#include "ibverbs/datapath/send_ops.h"
#include "ibverbs/failure.h"
#include "ibverbs/objects/qp.h"
#include "verbena/options.h"

namespace verbena::ibverbs {
namespace {

constexpr std::string_view kCall = "ibv_post_send";

SgeList SgesOf(const ibv_send_wr& wr) { return ToSges(wr.sg_list, wr.num_sge); }
// On a queue pair that is not of type XRC the field is undefined, and ignored.
SrqNumber SrqOf(const ibv_send_wr& wr) { return SrqNumber{Low24(wr.qp_type.xrc.remote_srqn)}; }
RemoteAddress RdmaOf(const ibv_send_wr& wr) {
  return {wr.wr.rdma.remote_addr, Key{wr.wr.rdma.rkey}};
}
RemoteAddress AtomicOf(const ibv_send_wr& wr) {
  return {wr.wr.atomic.remote_addr, Key{wr.wr.atomic.rkey}};
}

Send ToSend(const Qp& qp, const ibv_send_wr& wr) {
  Send send{.id = WrId{wr.wr_id},
            .data = SgesOf(wr),
            .flags = ToSendFlags(qp, wr.send_flags),
            .xrc_srq = SrqOf(wr)};
  if (wr.opcode == IBV_WR_SEND_WITH_IMM) send.immediate = ToImmediate(wr.imm_data);
  if (wr.opcode == IBV_WR_SEND_WITH_INV) send.invalidate = Key{wr.invalidate_rkey};
  if (qp.qp_base.qp_type == IBV_QPT_UD) {
    send.to = Datagram{.handle = Cast(wr.wr.ud.ah).handle.id(),
                       .qp = QpNumber{Low24(wr.wr.ud.remote_qpn)},
                       .q_key = QKey{wr.wr.ud.remote_qkey}};
  }
  return send;
}

Write ToWrite(const Qp& qp, const ibv_send_wr& wr) {
  Write write{.id = WrId{wr.wr_id},
              .data = SgesOf(wr),
              .remote = RdmaOf(wr),
              .flags = ToSendFlags(qp, wr.send_flags),
              .xrc_srq = SrqOf(wr)};
  if (wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) write.immediate = ToImmediate(wr.imm_data);
  return write;
}

bool IsPostable(const Qp& qp, const ibv_send_wr& wr) {
  return (SendOpOf(wr.opcode) & qp.send_ops) != 0 && wr.num_sge >= 0 &&
         static_cast<uint32_t>(wr.num_sge) <= kSgesMax;
}

// Calls use(request) with the converted request, and returns its result. Does not handle binds.
template <class Use>
int Translate(const Qp& qp, const ibv_send_wr& wr, Use use) {
  const WrId id{wr.wr_id};
  const SendFlags flags = ToSendFlags(qp, wr.send_flags);
  switch (wr.opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
    case IBV_WR_SEND_WITH_INV:
      return use(ToSend(qp, wr));
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return use(ToWrite(qp, wr));
    case IBV_WR_RDMA_READ:
      return use(Read{.id = id,
                      .data = SgesOf(wr),
                      .remote = RdmaOf(wr),
                      .flags = flags,
                      .xrc_srq = SrqOf(wr)});
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return use(CompareSwap{.id = id,
                             .result = SgesOf(wr),
                             .remote = AtomicOf(wr),
                             .compare = wr.wr.atomic.compare_add,
                             .swap = wr.wr.atomic.swap,
                             .flags = flags,
                             .xrc_srq = SrqOf(wr)});
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return use(FetchAdd{.id = id,
                          .result = SgesOf(wr),
                          .remote = AtomicOf(wr),
                          .add = wr.wr.atomic.compare_add,
                          .flags = flags,
                          .xrc_srq = SrqOf(wr)});
    case IBV_WR_ATOMIC_WRITE:
      return use(AtomicWrite{.id = id, .data = SgesOf(wr), .remote = RdmaOf(wr), .flags = flags});
    case IBV_WR_LOCAL_INV:
      return use(Invalidate{.id = id, .key = Key{wr.invalidate_rkey}, .flags = flags});
    case IBV_WR_BIND_MW:
    case IBV_WR_TSO:
    case IBV_WR_DRIVER1:
      break;
  }
  return EINVAL;
}

int PostBind(const Qp& qp, const ibv_send_wr& wr) {
  Mw& window = Cast(wr.bind_mw.mw);
  if (window.type != IBV_MW_TYPE_2) return EINVAL;
  const Key wanted = KeyOf(window, wr.bind_mw.rkey);
  auto bind = ToBind(qp, window, wanted, wr.bind_mw.bind_info);
  if (!bind) return ErrnoOf(bind.error());
  bind->id = WrId{wr.wr_id};
  bind->flags = ToSendFlags(qp, wr.send_flags);
  if (const int error = Posted(kCall, qp.handle.Post(*bind)); error != 0) return error;
  NoteBind(window, wanted);
  return 0;
}

int PostOne(const Qp& qp, const ibv_send_wr& wr) {
  if (!IsPostable(qp, wr)) return EINVAL;
  if (wr.opcode == IBV_WR_BIND_MW) return PostBind(qp, wr);
  return Translate(qp, wr,
                   [&](const auto& request) { return Posted(kCall, qp.handle.Post(request)); });
}

// Posts as many requests from `wr` on as can be posted at once, and sets `wr` to the first that was
// not posted. Returns the error number if that one was refused. A bind is posted alone, because the
// key of its window changes after it was posted.
int PostSome(const Qp& qp, ibv_send_wr*& wr) {
  std::array<SendRequest, kChainBatch> batch;
  size_t count = 0;
  int error = 0;
  for (const ibv_send_wr* at = wr; at != nullptr && count < batch.size(); at = at->next) {
    if (at->opcode == IBV_WR_BIND_MW) break;
    if (!IsPostable(qp, *at)) {
      error = EINVAL;
      break;
    }
    error = Translate(qp, *at, [&](const auto& request) {
      batch[count] = request;
      return 0;
    });
    ++count;
  }
  const ChainResult chain = qp.handle.PostChain(std::span(batch).first(count));
  for (size_t i = 0; i < chain.posted; ++i) wr = wr->next;
  return chain.result ? error : Posted(kCall, chain.result);
}

}  // namespace

int PostSend(ibv_qp* qp, ibv_send_wr* request, ibv_send_wr** refused) noexcept {
  const Qp& own = Cast(qp);
  ibv_send_wr* wr = request;
  while (wr != nullptr) {
    int error = 0;
    if (wr->next == nullptr || wr->opcode == IBV_WR_BIND_MW) {
      error = PostOne(own, *wr);
      if (error == 0) wr = wr->next;
    } else {
      error = PostSome(own, wr);
    }
    if (error != 0) {
      *refused = wr;
      return error;
    }
  }
  return 0;
}

}  // namespace verbena::ibverbs
