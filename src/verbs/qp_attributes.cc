#include "verbs/qp_attributes.h"

namespace verbena::verbs {

using transport::QpAttribute;

adapter::QpChange ChangeOf(const QpAttributes& from) {
  adapter::QpChange change;
  transport::QpSettings& to = change.attributes;
  // Sets a value and its bit in the mask, if it is given; T converts an integer to a strong type.
  const auto take = [&]<class T>(QpAttribute attribute, const auto& value, T& target) {
    if (!value) return;
    target = T(*value);
    change.mask = change.mask | attribute;
  };
  take(QpAttribute::kState, from.state, to.state);
  take(QpAttribute::kCurrentState, from.current_state, to.current_state);
  take(QpAttribute::kSqdNotify, from.sqd_notify, to.sqd_notify);
  take(QpAttribute::kAccess, from.access, to.access);
  take(QpAttribute::kPKeyIndex, from.p_key_index, to.p_key_index);
  take(QpAttribute::kPort, from.port, to.port);
  take(QpAttribute::kQKey, from.q_key, to.q_key);
  take(QpAttribute::kPath, from.path, change.path);
  take(QpAttribute::kPathMtu, from.path_mtu, to.path_mtu);
  take(QpAttribute::kTimeout, from.timeout, to.timeout);
  take(QpAttribute::kRetryCount, from.retry_count, to.retry_count);
  take(QpAttribute::kRnrRetry, from.rnr_retry, to.rnr_retry);
  take(QpAttribute::kRqPsn, from.rq_psn, to.rq_psn);
  take(QpAttribute::kMaxRdAtomic, from.max_rd_atomic, to.max_rd_atomic);
  take(QpAttribute::kMinRnrTimer, from.min_rnr_timer, to.min_rnr_timer);
  take(QpAttribute::kSqPsn, from.sq_psn, to.sq_psn);
  take(QpAttribute::kMaxDestRdAtomic, from.max_dest_rd_atomic, to.max_dest_rd_atomic);
  take(QpAttribute::kRemoteQp, from.remote_qp, to.remote_qp);
  const auto mark = [&](QpAttribute attribute, bool given) {
    if (given) change.mask = change.mask | attribute;
  };
  mark(QpAttribute::kAlternatePath, from.alternate_path);
  mark(QpAttribute::kPathMigration, from.path_migration);
  mark(QpAttribute::kCapacity, from.capacity);
  mark(QpAttribute::kRateLimit, from.rate_limit);
  return change;
}

QpReport ReportOf(const adapter::QpStatus& status) {
  const transport::QpSettings& s = status.attributes;
  return {.state = status.state,
          .is_draining = status.is_draining,
          .attributes = {.state = status.state,
                         .current_state = status.state,
                         .sqd_notify = s.sqd_notify,
                         .access = s.access,
                         .p_key_index = s.p_key_index.value(),
                         .port = s.port.value(),
                         .q_key = s.q_key,
                         .path = status.path,
                         .path_mtu = s.path_mtu,
                         .timeout = s.timeout.value(),
                         .retry_count = s.retry_count.value(),
                         .rnr_retry = s.rnr_retry.value(),
                         .rq_psn = s.rq_psn,
                         .max_rd_atomic = s.max_rd_atomic.value(),
                         .min_rnr_timer = s.min_rnr_timer.value(),
                         .sq_psn = s.sq_psn,
                         .max_dest_rd_atomic = s.max_dest_rd_atomic.value(),
                         .remote_qp = s.remote_qp},
          .counters = status.counters};
}

}  // namespace verbena::verbs
