#include "rdmacm/objects/qp_transition.h"

#include "base/error.h"
#include "base/result.h"
#include "ibverbs/failure.h"
#include "rdmacm/objects/path.h"

namespace verbena::rdmacm {
namespace {

using ibverbs::Invalid;

// Which attributes a transition has depends on the type of the queue pair. With XRC, only the
// sending half retries, and only the receiving half responds.
bool Retries(ibv_qp_type type) { return type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND; }
bool Answers(ibv_qp_type type) { return type == IBV_QPT_RC || type == IBV_QPT_XRC_RECV; }

// The kernel's connection manager leaves the timer of RNR NAKs at 0, the longest: 655 ms. Here a
// peer that is not Verbena also waits for it whenever a page of the program's memory is absent. So
// a peer that retries for ever waits 0.64 ms at a time; one that retries a few times needs the long
// timer to be patient.
uint8_t MinRnrTimer(const Agreement& agreement) {
  constexpr uint8_t kForEver = 7, kLongest = 0, kShort = 12;
  return agreement.peer_rnr_retry_count == kForEver ? kShort : kLongest;
}

QpTransition ToInit(const Id& id) {
  QpTransition change{.mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT};
  change.attributes.qp_state = IBV_QPS_INIT;
  change.attributes.port_num = id.port_num;
  if (IsDatagram(id)) {
    change.mask |= IBV_QP_QKEY;
    change.attributes.qkey = RDMA_UDP_QKEY;
    return change;
  }
  change.mask |= IBV_QP_ACCESS_FLAGS;
  if (!id.agreement) return change;  // no remote access before there is a peer
  change.attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  if (id.agreement->responder_resources > 0) {
    change.attributes.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  }
  return change;
}

ErrorOr<QpTransition> ToRtr(const Id& id) {
  const auto path = AddressTo(id, RemoteOf(id).ip);
  if (!path) return Fail(path.error());
  QpTransition change{.mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                              IBV_QP_RQ_PSN};
  ibv_qp_attr& out = change.attributes;
  out.qp_state = IBV_QPS_RTR;
  out.ah_attr = *path;
  out.path_mtu = static_cast<ibv_mtu>(id.agreement->mtu);
  out.dest_qp_num = id.agreement->peer_qp.value();
  out.rq_psn = id.agreement->own_psn.value();
  if (Answers(id.qp_type)) {
    change.mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    out.max_dest_rd_atomic = id.agreement->responder_resources;
    out.min_rnr_timer = MinRnrTimer(*id.agreement);
  }
  return change;
}

QpTransition ToRts(const Id& id) {
  QpTransition change{.mask = IBV_QP_STATE | IBV_QP_SQ_PSN};
  ibv_qp_attr& out = change.attributes;
  out.qp_state = IBV_QPS_RTS;
  out.sq_psn = id.agreement->peer_psn.value();
  if (Retries(id.qp_type)) {
    change.mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    out.retry_cnt = id.agreement->retry_count;
    out.rnr_retry = id.agreement->rnr_retry_count;
    out.max_rd_atomic = id.agreement->initiator_depth;
  }
  if (Retries(id.qp_type) || Answers(id.qp_type)) {
    change.mask |= IBV_QP_TIMEOUT;
    out.timeout = id.options.ack_timeout.value_or(id.agreement->ack_timeout);
  }
  return change;
}

ErrorOr<void> Modify(ibv_qp& qp, QpTransition change) {
  const int error = ibv_modify_qp(&qp, &change.attributes, change.mask);
  if (error == 0) return {};
  return Fail(SystemError(error, "cannot change the state of the queue pair"));
}

ErrorOr<void> ModifyTo(const Id& id, ibv_qp& qp, ibv_qp_state state) {
  const auto change = ChangeTo(id, state);
  if (!change) return Fail(change.error());
  return Modify(qp, *change);
}

QpTransition OnlyState(ibv_qp_state state, int mask = IBV_QP_STATE) {
  QpTransition change{.mask = mask};
  change.attributes.qp_state = state;
  return change;
}

}  // namespace

ErrorOr<QpTransition> ChangeTo(const Id& id, ibv_qp_state state) {
  if (id.device == nullptr) return Fail(Invalid("the id is not bound to an address of a device"));
  if (state == IBV_QPS_INIT) return ToInit(id);
  if (IsDatagram(id)) {
    QpTransition change = OnlyState(state);
    if (state == IBV_QPS_RTS) change.mask |= IBV_QP_SQ_PSN;
    if (state == IBV_QPS_RTR || state == IBV_QPS_RTS) return change;
  } else if (state == IBV_QPS_RTR || state == IBV_QPS_RTS) {
    // A program that moves its queue pair itself has nothing to do, as with an RNIC.
    if (IsIwarp(id)) return OnlyState(state, 0);
    if (!id.agreement) return Fail(Invalid("the id has no peer yet"));
    return state == IBV_QPS_RTR ? ToRtr(id) : ToRts(id);
  }
  return Fail(Invalid("the state must be IBV_QPS_INIT, IBV_QPS_RTR or IBV_QPS_RTS"));
}

ErrorOr<void> Prepare(const Id& id, ibv_qp& qp) {
  if (const auto ok = ModifyTo(id, qp, IBV_QPS_INIT); !ok) return ok;
  if (!IsDatagram(id)) return {};
  if (const auto ok = ModifyTo(id, qp, IBV_QPS_RTR); !ok) return ok;
  return ModifyTo(id, qp, IBV_QPS_RTS);
}

ErrorOr<void> MakeReady(const Id& id, const ReadLimits& limits) {
  if (id.qp == nullptr) return {};
  // To INIT a second time: the access rights of the peer were not known before.
  if (const auto ok = ModifyTo(id, *id.qp, IBV_QPS_INIT); !ok) return ok;
  if (IsIwarp(id)) return {};
  auto change = ChangeTo(id, IBV_QPS_RTR);
  if (!change) return Fail(change.error());
  change->attributes.max_dest_rd_atomic = limits.responder_resources;
  if (const auto ok = Modify(*id.qp, *change); !ok) return ok;
  change = ChangeTo(id, IBV_QPS_RTS);
  if (!change) return Fail(change.error());
  change->attributes.max_rd_atomic = limits.initiator_depth;
  return Modify(*id.qp, *change);
}

ErrorOr<void> MoveToError(const Id& id) {
  if (id.qp == nullptr) return {};
  return Modify(*id.qp, OnlyState(IBV_QPS_ERR));
}

}  // namespace verbena::rdmacm
