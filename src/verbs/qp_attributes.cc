#include "verbs/qp_attributes.h"

#include "verbs/convert.h"

namespace verbena::verbs {
namespace {

using transport::QpAttribute;

QpCounters CountersOf(const adapter::QpCounters& from) {
  return {.packets_sent = from.packets_sent,
          .bytes_sent = from.bytes_sent,
          .packets_received = from.packets_received,
          .bytes_received = from.bytes_received,
          .page_requests = from.page_requests,
          .timeouts = from.timeouts,
          .sequence_naks = from.sequence_naks,
          .rnr_naks = from.rnr_naks,
          .lost_responses = from.lost_responses,
          .page_waits = from.page_waits,
          .dropped_out_of_sequence = from.dropped_out_of_sequence,
          .dropped_no_receive = from.dropped_no_receive,
          .dropped_pages_absent = from.dropped_pages_absent,
          .dropped_refused = from.dropped_refused};
}

}  // namespace

ErrorOr<adapter::QpChange> ToAdapter(const QpAttributes& from) {
  adapter::QpChange change;
  transport::QpAttributes& to = change.attributes;
  // Sets a value, and that it counts, if there is one; T makes the adapter's of ours.
  const auto take = [&]<class T>(QpAttribute attribute, const auto& value, T& target) {
    if (!value) return;
    target = T(*value);
    change.mask = change.mask | attribute;
  };
  const auto number = [](const auto& value) {
    using Integer = decltype(value->value());
    return value ? std::optional<Integer>(value->value()) : std::nullopt;
  };
  const auto state = [](const std::optional<QpState>& value) {
    return value ? std::optional(static_cast<transport::QpState>(*value)) : std::nullopt;
  };
  take(QpAttribute::kState, state(from.state), to.state);
  take(QpAttribute::kCurrentState, state(from.current_state), to.current_state);
  take(QpAttribute::kSqdNotify, from.sqd_notify, to.sqd_notify);
  take(QpAttribute::kPKeyIndex, from.p_key_index, to.p_key_index);
  take(QpAttribute::kPort, from.port, to.port);
  take(QpAttribute::kQKey, number(from.q_key), to.q_key);
  take(QpAttribute::kTimeout, from.timeout, to.timeout);
  take(QpAttribute::kRetryCount, from.retry_count, to.retry_count);
  take(QpAttribute::kRnrRetry, from.rnr_retry, to.rnr_retry);
  take(QpAttribute::kRqPsn, number(from.rq_psn), to.rq_psn);
  take(QpAttribute::kMaxRdAtomic, from.max_rd_atomic, to.max_rd_atomic);
  take(QpAttribute::kMinRnrTimer, from.min_rnr_timer, to.min_rnr_timer);
  take(QpAttribute::kSqPsn, number(from.sq_psn), to.sq_psn);
  take(QpAttribute::kMaxDestRdAtomic, from.max_dest_rd_atomic, to.max_dest_rd_atomic);
  take(QpAttribute::kRemoteQp, number(from.remote_qp), to.remote_qp);
  const auto mark = [&](QpAttribute attribute, bool given) {
    if (given) change.mask = change.mask | attribute;
  };
  mark(QpAttribute::kAccess, from.access.has_value());
  mark(QpAttribute::kPath, from.path.has_value());
  mark(QpAttribute::kPathMtu, from.path_mtu.has_value());
  mark(QpAttribute::kAlternatePath, from.alternate_path);
  mark(QpAttribute::kPathMigration, from.path_migration);
  mark(QpAttribute::kCapacity, from.capacity);
  mark(QpAttribute::kRateLimit, from.rate_limit);
  if (from.access) to.access = ToAdapter(*from.access);
  if (from.path) change.path = ToAdapter(*from.path);
  if (from.path_mtu) to.path_mtu = static_cast<transport::PathMtu>(*from.path_mtu);
  return change;
}

QpReport FromAdapter(const adapter::QpReport& report) {
  const transport::QpAttributes& a = report.attributes;
  const auto state = static_cast<QpState>(report.state);
  QpReport to{.state = state,
              .is_draining = report.is_draining,
              .attributes = {.state = state,
                             .current_state = state,
                             .sqd_notify = a.sqd_notify,
                             .access = FromAdapter(a.access),
                             .p_key_index = a.p_key_index.value(),
                             .port = a.port.value(),
                             .q_key = a.q_key,
                             .path_mtu = static_cast<PathMtu>(a.path_mtu),
                             .timeout = a.timeout.value(),
                             .retry_count = a.retry_count.value(),
                             .rnr_retry = a.rnr_retry.value(),
                             .rq_psn = a.rq_psn,
                             .max_rd_atomic = a.max_rd_atomic.value(),
                             .min_rnr_timer = a.min_rnr_timer.value(),
                             .sq_psn = a.sq_psn,
                             .max_dest_rd_atomic = a.max_dest_rd_atomic.value(),
                             .remote_qp = a.remote_qp},
              .counters = CountersOf(report.counters)};
  if (report.path) to.attributes.path = FromAdapter(*report.path);
  return to;
}

}  // namespace verbena::verbs
