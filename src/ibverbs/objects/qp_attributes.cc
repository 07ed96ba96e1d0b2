// ibv_modify_qp and ibv_query_qp.

#include <infiniband/verbs.h>

#include <atomic>
#include <optional>

#include "base/result.h"
#include "ibverbs/datapath/numbers.h"
#include "ibverbs/failure.h"
#include "ibverbs/objects/access_flags.h"
#include "ibverbs/objects/address_vector.h"
#include "ibverbs/objects/local_mtu.h"
#include "ibverbs/objects/qp.h"

namespace verbena::ibverbs {
namespace {

static_assert(static_cast<int>(QpState::kReset) == IBV_QPS_RESET);
static_assert(static_cast<int>(QpState::kErr) == IBV_QPS_ERR);
static_assert(static_cast<int>(PathMtu::k4096) == IBV_MTU_4096);

constexpr unsigned kMaskKnown = ((1U << 21) - 1) | IBV_QP_RATE_LIMIT;

void ShowState(Qp& qp, QpState state) {
  // Programs may read it at any time.
  std::atomic_ref(qp.qp_base.state)
      .store(static_cast<ibv_qp_state>(state), std::memory_order_relaxed);
}

// Refuses values that would change when they are converted.
ErrorOr<void> CheckNumbers(const ibv_qp_attr& from, unsigned mask) {
  const struct {
    unsigned attribute;
    bool in_range;
    const char* name;
  } rows[] = {
      {IBV_QP_STATE, from.qp_state <= IBV_QPS_ERR, "unknown state"},
      {IBV_QP_CUR_STATE, from.cur_qp_state <= IBV_QPS_ERR, "unknown state"},
      {IBV_QP_PATH_MTU, from.path_mtu >= IBV_MTU_256 && from.path_mtu <= IBV_MTU_4096,
       "unknown MTU"},
      {IBV_QP_PATH_MIG_STATE, from.path_mig_state <= IBV_MIG_ARMED, "unknown migration state"},
  };
  for (const auto& row : rows) {
    if ((mask & row.attribute) != 0 && !row.in_range) return Fail(Invalid(row.name));
  }
  return {};
}

// The ends of an extended connection have half of a queue pair. Programs treat them as whole ones,
// and set attributes of the missing half; these are ignored.
unsigned WithoutOtherHalf(const Qp& qp, unsigned mask) {
  constexpr unsigned kOfReceiver = IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_DEST_RD_ATOMIC;
  constexpr unsigned kOfSender = IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  if (qp.qp_base.qp_type == IBV_QPT_XRC_SEND) return mask & ~kOfReceiver;
  if (qp.qp_base.qp_type == IBV_QPT_XRC_RECV) return mask & ~kOfSender;
  return mask;
}

ErrorOr<QpAttributes> FromVerbs(Context& context, const ibv_qp_attr& from, unsigned mask) {
  if ((mask & ~kMaskKnown) != 0) return Fail(Invalid("unknown bits in the attribute mask"));
  if (const auto ok = CheckNumbers(from, mask); !ok) return Fail(ok.error());
  QpAttributes to;
  const auto take = [&]<class T>(unsigned attribute, auto value, std::optional<T>& target) {
    if ((mask & attribute) != 0) target = T{value};
  };
  const auto state = [](ibv_qp_state value) { return static_cast<QpState>(value); };
  take(IBV_QP_STATE, state(from.qp_state), to.state);
  take(IBV_QP_CUR_STATE, state(from.cur_qp_state), to.current_state);
  take(IBV_QP_EN_SQD_ASYNC_NOTIFY, from.en_sqd_async_notify != 0, to.sqd_notify);
  take(IBV_QP_ACCESS_FLAGS, ToAccess(from.qp_access_flags), to.access);
  take(IBV_QP_PKEY_INDEX, from.pkey_index, to.p_key_index);
  take(IBV_QP_PORT, from.port_num, to.port);
  take(IBV_QP_QKEY, from.qkey, to.q_key);
  take(IBV_QP_PATH_MTU, static_cast<PathMtu>(from.path_mtu), to.path_mtu);
  take(IBV_QP_TIMEOUT, from.timeout, to.timeout);
  take(IBV_QP_RETRY_CNT, from.retry_cnt, to.retry_count);
  take(IBV_QP_RNR_RETRY, from.rnr_retry, to.rnr_retry);
  take(IBV_QP_RQ_PSN, Low24(from.rq_psn), to.rq_psn);
  take(IBV_QP_MAX_QP_RD_ATOMIC, from.max_rd_atomic, to.max_rd_atomic);
  take(IBV_QP_MIN_RNR_TIMER, from.min_rnr_timer, to.min_rnr_timer);
  take(IBV_QP_SQ_PSN, Low24(from.sq_psn), to.sq_psn);
  take(IBV_QP_MAX_DEST_RD_ATOMIC, from.max_dest_rd_atomic, to.max_dest_rd_atomic);
  take(IBV_QP_DEST_QPN, Low24(from.dest_qp_num), to.remote_qp);
  to.alternate_path = (mask & IBV_QP_ALT_PATH) != 0;
  to.path_migration = (mask & IBV_QP_PATH_MIG_STATE) != 0;
  to.capacity = (mask & IBV_QP_CAP) != 0;
  to.rate_limit = (mask & IBV_QP_RATE_LIMIT) != 0;
  if ((mask & IBV_QP_AV) != 0) {
    const auto path = AddressVectorOf(context, from.ah_attr);
    if (!path) return Fail(path.error());
    to.path = *path;
  }
  return to;
}

ErrorOr<ibv_qp_attr> AttributesToVerbs(Context& context, const QpAttributes& from) {
  ibv_qp_attr to{};
  to.qp_state = to.cur_qp_state = static_cast<ibv_qp_state>(*from.state);
  to.path_mtu = static_cast<ibv_mtu>(*from.path_mtu);
  to.path_mig_state = IBV_MIG_MIGRATED;
  to.qkey = from.q_key->value();
  to.rq_psn = from.rq_psn->value();
  to.sq_psn = from.sq_psn->value();
  to.dest_qp_num = from.remote_qp->value();
  to.qp_access_flags = ToAccessFlags(*from.access);
  if (from.path) {
    const auto path = AttributesOf(context, *from.path);
    if (!path) return Fail(path.error());
    to.ah_attr = *path;
  }
  to.pkey_index = *from.p_key_index;
  to.en_sqd_async_notify = *from.sqd_notify ? 1 : 0;
  to.max_rd_atomic = *from.max_rd_atomic;
  to.max_dest_rd_atomic = *from.max_dest_rd_atomic;
  to.min_rnr_timer = *from.min_rnr_timer;
  to.port_num = *from.port;
  to.timeout = *from.timeout;
  to.retry_cnt = *from.retry_count;
  to.rnr_retry = *from.rnr_retry;
  return to;
}

}  // namespace

void RefreshState(Qp& qp) {
  if (const auto report = qp.handle.Query()) ShowState(qp, report->state);
}

}  // namespace verbena::ibverbs

using namespace verbena::ibverbs;  // NOLINT(google-build-using-namespace): the verbs are global

int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) try {
  Qp& own = Cast(qp);
  const unsigned its_mask = WithoutOtherHalf(own, static_cast<unsigned>(mask));
  auto change = FromVerbs(Cast(qp->context), *attributes, its_mask);
  if (!change) return Failed("ibv_modify_qp", change.error());
  const auto asked = change->path_mtu;
  if (asked && change->path) change->path_mtu = LocalMtu(Cast(qp->context), *change->path, *asked);
  if (const auto ok = own.handle.Modify(*change); !ok) return Failed("ibv_modify_qp", ok.error());
  if (asked) own.mtu = {.asked = *asked, .granted = *change->path_mtu};
  RefreshState(own);
  return 0;
} catch (...) {
  return Thrown("ibv_modify_qp");
}

int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attributes, int /*mask*/,
                 ibv_qp_init_attr* creation) try {
  Qp& own = Cast(qp);
  const auto report = own.handle.Query();
  if (!report) return Failed("ibv_query_qp", report.error());
  // The mask is a minimum; all attributes are returned, at no cost.
  const auto all = AttributesToVerbs(Cast(qp->context), report->attributes);
  if (!all) return Failed("ibv_query_qp", all.error());
  *attributes = *all;
  // A query returns what the program set.
  if (report->attributes.path_mtu == own.mtu.granted) {
    attributes->path_mtu = static_cast<ibv_mtu>(own.mtu.asked);
  }
  attributes->sq_draining = report->is_draining ? 1 : 0;
  attributes->cap = own.creation.cap;
  *creation = own.creation;
  ShowState(own, report->state);
  return 0;
} catch (...) {
  return Thrown("ibv_query_qp");
}
