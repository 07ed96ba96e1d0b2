// Queue pairs: making, changing and connecting them. Posting is in post.cc.

#include "verbena/queue_pair.h"

#include "verbs/convert.h"
#include "verbs/objects.h"
#include "verbs/qp_attributes.h"

namespace verbena {
namespace {

using verbs::FromAdapter;
using verbs::ToAdapter;

queue::WorkQueueLimits LimitsOf(const QueueSize& size) {
  return {.capacity = size.capacity,
          .sges_max = size.sges_max,
          .inline_max = size.inline_max,
          .pages_max = size.pages_max};
}

static_assert(static_cast<int>(RegistrationMode::kReactive) ==
              static_cast<int>(transport::RegistrationMode::kReactive));

// Whatever a program wrote; the tables of the transport have a row for each, and no more.
ErrorOr<void> CheckKind(const QpSpec& spec) {
  if (spec.type > QpType::kXrcReceive) return Fail(verbs::Invalid("no such type of queue pair"));
  if (spec.registration > RegistrationMode::kReactive) {
    return Fail(verbs::Invalid("no such mode of registration"));
  }
  return {};
}

ErrorOr<void> CheckQueues(const verbs::PdObject& pd, const QpSpec& spec) {
  for (const CompletionQueue* const cq : {spec.send_cq, spec.receive_cq}) {
    if (cq == nullptr) {
      return Fail(verbs::Invalid("a queue pair needs a completion queue for each of its queues"));
    }
    if (!*cq) return Fail(verbs::Empty("completion queue"));
    if (cq->object()->base != pd.context) {
      return Fail(verbs::Invalid("the completion queue is of another context"));
    }
  }
  if (spec.srq == nullptr) return {};
  if (!*spec.srq) return Fail(verbs::Empty("shared receive queue"));
  if (spec.srq->object()->base->context != pd.context) {
    return Fail(verbs::Invalid("the shared receive queue is of another context"));
  }
  return {};
}

ErrorOr<void> ModifyObject(verbs::QpObject& qp, const QpAttributes& attributes) {
  const auto change = ToAdapter(attributes);
  if (!change) return Fail(change.error());
  return FromAdapter(qp.device.Modify(*qp.thing, *change));
}

constexpr uint8_t kPort = 1;
constexpr uint16_t kDefaultPartition = 0;

QpAttributes ToRtr(const QpAddress& remote, const AddressVector& path, PathMtu mtu) {
  return {.state = QpState::kRtr,
          .path = path,
          .path_mtu = mtu,
          .rq_psn = remote.psn,
          .remote_qp = remote.qp};
}

}  // namespace

ErrorOr<QueuePair> QueuePair::Create(const ProtectionDomain& domain, const QpSpec& spec) {
  if (!domain) return Fail(verbs::Empty("protection domain"));
  verbs::PdObject& pd = *domain.object();
  if (const auto ok = CheckKind(spec); !ok) return Fail(ok.error());
  if (const auto ok = CheckQueues(pd, spec); !ok) return Fail(ok.error());
  verbs::QueueShares queues{.send_cq = spec.send_cq->object(),
                            .receive_cq = spec.receive_cq->object(),
                            .srq = spec.srq != nullptr ? spec.srq->object() : nullptr};
  const auto qp = pd.device.CreateQp(
      {.type = static_cast<transport::QpType>(spec.type),
       .pd = pd.id,
       .send_cq = queues.send_cq->thing,
       .receive_cq = queues.receive_cq->thing,
       .srq = queues.srq != nullptr ? queues.srq->thing : nullptr,
       .send = LimitsOf(spec.send),
       .receive = LimitsOf(spec.receive),
       .registration = static_cast<transport::RegistrationMode>(spec.registration)});
  if (!qp) return Fail(FromAdapter(qp.error()));
  return QueuePair(std::make_shared<verbs::QpObject>(domain.object(), std::move(queues), *qp));
}

ErrorOr<void> QueuePair::Destroy() {
  auto ended = verbs::EndNow(object(), "queue pair");
  if (ended) Reset();
  return ended;
}

QpNumber QueuePair::number() const {
  return QpNumber{object() ? object()->thing->number().value() : 0};
}
QpType QueuePair::type() const {
  return object() ? static_cast<QpType>(object()->thing->spec().type) : QpType{};
}

ErrorOr<void> QueuePair::Prepare(Access access) {
  if (!object()) return Fail(verbs::Empty("queue pair"));
  if (type() == QpType::kUd) return Fail(verbs::Invalid("a datagram queue pair is activated"));
  return ModifyObject(
      *object(),
      {.state = QpState::kInit, .access = access, .p_key_index = kDefaultPartition, .port = kPort});
}

ErrorOr<void> QueuePair::Connect(const QpAddress& local, const QpAddress& remote,
                                 const ConnectSettings& settings) {
  const auto report = Query();
  if (!report) return Fail(report.error());
  if (local.qp != number()) return Fail(verbs::Invalid("the local address is another's"));
  const AddressVector path{.source = local.gid,
                           .destination = remote.gid,
                           .interface = settings.interface,
                           .traffic_class = settings.traffic_class};
  PathMtu mtu = settings.path_mtu.value_or(PathMtu{});
  if (!settings.path_mtu) {
    const auto largest = Context::LargestMtu(path);
    if (!largest) return Fail(largest.error());
    mtu = *largest;
  }
  if (report->state == QpState::kReset) {
    if (auto ok = Prepare(settings.access); !ok) return ok;
  }
  const bool is_reliable = type() == QpType::kRc;
  QpAttributes rtr = ToRtr(remote, path, mtu);
  rtr.access = settings.access;
  QpAttributes rts{.state = QpState::kRts, .sq_psn = local.psn};
  if (is_reliable) {
    rtr.max_dest_rd_atomic = settings.max_dest_rd_atomic;
    rtr.min_rnr_timer = settings.min_rnr_timer;
    rts.timeout = settings.timeout;
    rts.retry_count = settings.retry_count;
    rts.rnr_retry = settings.rnr_retry;
    rts.max_rd_atomic = settings.max_rd_atomic;
  }
  if (auto ok = ModifyObject(*object(), rtr); !ok) return ok;
  return ModifyObject(*object(), rts);
}

ErrorOr<void> QueuePair::Activate(QKey q_key, Psn psn) {
  if (!object()) return Fail(verbs::Empty("queue pair"));
  if (type() != QpType::kUd) return Fail(verbs::Invalid("only a datagram queue pair is activated"));
  const QpAttributes steps[] = {
      {.state = QpState::kInit, .p_key_index = kDefaultPartition, .port = kPort, .q_key = q_key},
      {.state = QpState::kRtr},
      {.state = QpState::kRts, .sq_psn = psn}};
  for (const QpAttributes& step : steps) {
    if (auto ok = ModifyObject(*object(), step); !ok) return ok;
  }
  return {};
}

ErrorOr<void> QueuePair::Modify(const QpAttributes& attributes) {
  if (!object()) return Fail(verbs::Empty("queue pair"));
  return ModifyObject(*object(), attributes);
}

ErrorOr<QpReport> QueuePair::Query() const {
  if (!object()) return Fail(verbs::Empty("queue pair"));
  const auto report = object()->device.Query(*object()->thing);
  if (!report) return Fail(FromAdapter(report.error()));
  return FromAdapter(*report);
}

ErrorOr<void> QueuePair::AttachMulticast(const Gid& group) {
  if (!object()) return Fail(verbs::Empty("queue pair"));
  return object()->JoinGroup(ToAdapter(group));
}

ErrorOr<void> QueuePair::DetachMulticast(const Gid& group) {
  if (!object()) return Fail(verbs::Empty("queue pair"));
  return object()->LeaveGroup(ToAdapter(group));
}

}  // namespace verbena
