// Queue pairs: creating, modifying and connecting them. Posting is in post.cc.

#include "verbena/queue_pair.h"

#include "verbs/convert.h"
#include "verbs/objects.h"
#include "verbs/qp_attributes.h"
#include "verbs/thrown.h"

namespace verbena {
namespace {

queue::WorkQueueLimits LimitsOf(const QueueSize& size) {
  return {.capacity = size.capacity,
          .sges_max = size.sges_max,
          .inline_max = size.inline_max,
          .pages_max = size.pages_max};
}

const std::shared_ptr<verbs::ContextObject>& ContextOf(const verbs::SrqObject& srq) {
  return srq.base->context;
}
template <class Object>
const std::shared_ptr<verbs::ContextObject>& ContextOf(const Object& object) {
  return object.base;
}

// Checks enum values, which a program may have cast from integers: the tables of the transport have
// rows for valid values only.
ErrorOr<void> CheckKind(const QpSpec& spec) {
  if (spec.type > QpType::kStream) return Fail(verbs::Invalid("type: unknown queue pair type"));
  if (spec.registration > RegistrationMode::kReactive) {
    return Fail(verbs::Invalid("registration: unknown registration mode"));
  }
  return {};
}

// Checks that the object, if there is one, belongs to the same context.
template <class HandleType>
ErrorOr<void> CheckShare(const HandleType* handle, const std::shared_ptr<verbs::ContextObject>& of,
                         const char* what) {
  if (handle == nullptr) return {};
  if (!*handle) return Fail(verbs::Empty(what));
  if (ContextOf(*handle->object()) != of) {
    return Fail(verbs::Invalid(std::string("the ") + what + " belongs to another context"));
  }
  return {};
}

ErrorOr<void> CheckQueues(const verbs::PdObject& pd, const QpSpec& spec) {
  if (spec.type == QpType::kXrcReceive) {
    if (spec.xrc_domain == nullptr) {
      return Fail(
          verbs::Invalid("xrc_domain: a queue pair of type XRC receive needs an XRC domain"));
    }
    return CheckShare(spec.xrc_domain, pd.context, "XRC domain");
  }
  const bool needs_receive_cq = spec.type != QpType::kXrcSend;
  if (spec.send_cq == nullptr || (needs_receive_cq && spec.receive_cq == nullptr)) {
    return Fail(verbs::Invalid(
        "send_cq, receive_cq: a queue pair needs a completion queue for each of its queues"));
  }
  for (const CompletionQueue* const cq : {spec.send_cq, spec.receive_cq}) {
    if (const auto ok = CheckShare(cq, pd.context, "completion queue"); !ok) return ok;
  }
  if (spec.srq != nullptr && *spec.srq && spec.srq->number() != SrqNumber{}) {
    return Fail(
        verbs::Invalid("srq: an XRC shared receive queue receives through its XRC domain, not "
                       "through a queue pair"));
  }
  return CheckShare(spec.srq, pd.context, "shared receive queue");
}

// The objects that a queue pair of this type depends on.
verbs::QueueOwners OwnersOf(const QpSpec& spec) {
  const auto share = [](const auto* handle) {
    return handle != nullptr ? handle->object() : nullptr;
  };
  if (spec.type == QpType::kXrcReceive) return {.xrc = share(spec.xrc_domain)};
  return {.send_cq = share(spec.send_cq),
          .receive_cq = spec.type == QpType::kXrcSend ? nullptr : share(spec.receive_cq),
          .srq = spec.type == QpType::kXrcSend ? nullptr : share(spec.srq)};
}

ErrorOr<void> ModifyObject(verbs::QpObject& qp, const QpAttributes& attributes) {
  return qp.device.Modify(*qp.thing, verbs::ChangeOf(attributes));
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

ErrorOr<QueuePair> QueuePair::Create(const ProtectionDomain& domain, const QpSpec& spec) try {
  if (!domain) return Fail(verbs::Empty("protection domain"));
  verbs::PdObject& pd = *domain.object();
  if (const auto ok = CheckKind(spec); !ok) return Fail(ok.error());
  if (const auto ok = CheckQueues(pd, spec); !ok) return Fail(ok.error());
  const verbs::QueueOwners queues = OwnersOf(spec);
  auto object = std::make_shared<verbs::QpObject>(domain.object(), queues);
  const auto thing = [](const auto& share) { return share != nullptr ? share->thing : nullptr; };
  const auto qp = pd.device.CreateQp({.type = spec.type,
                                      .pd = pd.id,
                                      .send_cq = thing(queues.send_cq),
                                      .receive_cq = thing(queues.receive_cq),
                                      .srq = thing(queues.srq),
                                      .xrc_domain = thing(queues.xrc),
                                      .events = pd.context->events,
                                      .send = LimitsOf(spec.send),
                                      .receive = LimitsOf(spec.receive),
                                      .registration = spec.registration});
  if (!qp) return Fail(qp.error());
  object->thing = *qp;
  return QueuePair(std::move(object));
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> QueuePair::Destroy() try {
  auto ended = verbs::EndNow(object(), "queue pair");
  if (ended) Reset();
  return ended;
} catch (...) {
  return Fail(verbs::Thrown());
}

QpNumber QueuePair::number() const { return object() ? object()->thing->number() : QpNumber{}; }
QpType QueuePair::type() const { return object() ? object()->thing->spec().type : QpType{}; }

ErrorOr<void> QueuePair::Prepare(Access access) try {
  if (!object()) return Fail(verbs::Empty("queue pair"));
  if (type() == QpType::kUd) {
    return Fail(verbs::Invalid("Prepare is for connections: call Activate for a UD queue pair"));
  }
  return ModifyObject(
      *object(),
      {.state = QpState::kInit, .access = access, .p_key_index = kDefaultPartition, .port = kPort});
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> QueuePair::Connect(const QpAddress& local, const QpAddress& remote,
                                 const ConnectSettings& settings) try {
  const auto report = Query();
  if (!report) return Fail(report.error());
  if (local.qp != number()) {
    return Fail(verbs::Invalid("local: the address of another queue pair"));
  }
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
  QpAttributes rtr = ToRtr(remote, path, mtu);
  rtr.access = settings.access;
  QpAttributes rts{.state = QpState::kRts, .sq_psn = local.psn};
  if (type() == QpType::kRc || type() == QpType::kXrcReceive) {
    rtr.max_dest_rd_atomic = settings.max_dest_rd_atomic;
    rtr.min_rnr_timer = settings.min_rnr_timer;
    rts.timeout = settings.timeout;
  }
  if (type() == QpType::kRc || type() == QpType::kXrcSend) {
    rts.timeout = settings.timeout;
    rts.retry_count = settings.retry_count;
    rts.rnr_retry = settings.rnr_retry;
    rts.max_rd_atomic = settings.max_rd_atomic;
  }
  if (auto ok = ModifyObject(*object(), rtr); !ok) return ok;
  return ModifyObject(*object(), rts);
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> QueuePair::Activate(QKey q_key, Psn psn) try {
  if (!object()) return Fail(verbs::Empty("queue pair"));
  if (type() != QpType::kUd) {
    return Fail(verbs::Invalid("Activate is for UD queue pairs: call Connect for connections"));
  }
  const QpAttributes steps[] = {
      {.state = QpState::kInit, .p_key_index = kDefaultPartition, .port = kPort, .q_key = q_key},
      {.state = QpState::kRtr},
      {.state = QpState::kRts, .sq_psn = psn}};
  for (const QpAttributes& step : steps) {
    if (auto ok = ModifyObject(*object(), step); !ok) return ok;
  }
  return {};
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> QueuePair::Modify(const QpAttributes& attributes) try {
  if (!object()) return Fail(verbs::Empty("queue pair"));
  return ModifyObject(*object(), attributes);
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<QpReport> QueuePair::Query() const try {
  if (!object()) return Fail(verbs::Empty("queue pair"));
  const auto report = object()->device.Query(*object()->thing);
  if (!report) return Fail(report.error());
  return verbs::ReportOf(*report);
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> QueuePair::AttachMulticast(const Gid& group) try {
  if (!object()) return Fail(verbs::Empty("queue pair"));
  return object()->JoinGroup(group);
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> QueuePair::DetachMulticast(const Gid& group) try {
  if (!object()) return Fail(verbs::Empty("queue pair"));
  return object()->LeaveGroup(group);
} catch (...) {
  return Fail(verbs::Thrown());
}

}  // namespace verbena
