// Queue pairs: create and destroy. Their attributes are in qp_attributes.cc.

#include "ibverbs/objects/qp.h"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "ibverbs/datapath/send_ops.h"
#include "ibverbs/datapath/work_builder.h"
#include "ibverbs/failure.h"
#include "ibverbs/objects/event_acks.h"
#include "ibverbs/shared.h"

namespace verbena::ibverbs {

using namespace std::string_view_literals;

Qp::Qp(std::shared_ptr<Shared> share)
    : ibv_qp_ex{}, shared(std::move(share)), handle(shared->handle) {
  InitAcks(qp_base);
}
Qp::~Qp() { EndAcks(qp_base); }

namespace {

bool IsXrc(ibv_qp_type type) { return type == IBV_QPT_XRC_SEND || type == IBV_QPT_XRC_RECV; }

ErrorOr<QpType> TypeOf(ibv_qp_type type) {
  switch (type) {
    case IBV_QPT_RC:
      return QpType::kRc;
    case IBV_QPT_UC:
      return QpType::kUc;
    case IBV_QPT_UD:
      return QpType::kUd;
    case IBV_QPT_XRC_SEND:
      return QpType::kXrcSend;
    case IBV_QPT_XRC_RECV:
      return QpType::kXrcReceive;
    case IBV_QPT_RAW_PACKET:
    case IBV_QPT_DRIVER:
      return Fail(NotOffered("this type of queue pair is not supported"));
  }
  return Fail(Invalid("unknown type of queue pair"));
}

ErrorOr<void> CheckExtensions(const ibv_qp_init_attr_ex& wish) {
  constexpr uint32_t kKnown = (IBV_QP_INIT_ATTR_SEND_OPS_FLAGS << 1) - 1;
  constexpr uint32_t kOffered = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
                                IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  if ((wish.comp_mask & ~kKnown) != 0) return Fail(Invalid("unknown bits in comp_mask"));
  if ((wish.comp_mask & ~kOffered) != 0)
    return Fail(NotOffered("attributes of raw packet queue pairs are not supported"));
  if ((wish.comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 && wish.create_flags != 0) {
    return Fail(NotOffered("unsupported create_flags"));
  }
  if ((wish.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0 &&
      (wish.send_ops_flags & ~SendOpsOf(wish.qp_type)) != 0) {
    return Fail(NotOffered(
        "send_ops_flags has an operation that this type of queue pair does not support"));
  }
  return {};
}

ErrorOr<void> CheckCapacities(const ibv_qp_cap& cap, const Options& options) {
  if (std::max(cap.max_send_wr, cap.max_recv_wr) > options.queue_depth_max ||
      std::max(cap.max_send_sge, cap.max_recv_sge) > options.sges_max ||
      cap.max_inline_data > options.inline_max) {
    return Fail(Invalid("cap exceeds the limits of ibv_query_device"));
  }
  return {};
}

ErrorOr<void> CheckXrcReceiver(ibv_context* context, const ibv_qp_init_attr_ex& wish) {
  if ((wish.comp_mask & IBV_QP_INIT_ATTR_XRCD) == 0 || wish.xrcd == nullptr ||
      wish.xrcd->context != context) {
    return Fail(Invalid("the queue pair needs an XRC domain of its context"));
  }
  return {};
}

ErrorOr<void> CheckObjects(ibv_context* context, const ibv_qp_init_attr_ex& wish) {
  if (wish.qp_type == IBV_QPT_XRC_RECV) return CheckXrcReceiver(context, wish);
  if ((wish.comp_mask & IBV_QP_INIT_ATTR_PD) == 0 || wish.pd == nullptr) {
    return Fail(Invalid("a queue pair needs a protection domain"));
  }
  if (wish.pd->context != context)
    return Fail(Invalid("the protection domain belongs to another context"));
  const auto is_good = [&](const auto* queue) {
    return queue != nullptr && queue->context == context;
  };
  const bool receives = wish.qp_type != IBV_QPT_XRC_SEND;
  if (!is_good(wish.send_cq) || (receives && !is_good(wish.recv_cq))) {
    return Fail(Invalid("a queue pair needs completion queues of its context"));
  }
  if (wish.srq != nullptr && (!receives || !is_good(wish.srq))) {
    return Fail(
        Invalid("the shared receive queue belongs to another context, or does not fit the type"));
  }
  return {};
}

// A program that only receives, or only sends, may ask for a capacity of 0; a queue has at least
// one element. The ends of an extended connection have no queue for the missing direction.
ibv_qp_cap Capacities(const ibv_qp_init_attr_ex& wish) {
  ibv_qp_cap cap = wish.cap;
  if (wish.qp_type == IBV_QPT_XRC_RECV) {
    cap.max_send_wr = cap.max_send_sge = cap.max_inline_data = 0;
  } else {
    cap.max_send_wr = std::max(cap.max_send_wr, 1U);
    cap.max_send_sge = std::max(cap.max_send_sge, 1U);
  }
  if (wish.srq != nullptr || IsXrc(wish.qp_type)) {
    cap.max_recv_wr = cap.max_recv_sge = 0;
  } else {
    cap.max_recv_wr = std::max(cap.max_recv_wr, 1U);
    cap.max_recv_sge = std::max(cap.max_recv_sge, 1U);
  }
  // The operand of ibv_wr_atomic_write is inline data.
  const bool atomic_write = (wish.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0 &&
                            (wish.send_ops_flags & IBV_QP_EX_WITH_ATOMIC_WRITE) != 0;
  if (atomic_write) cap.max_inline_data = std::max<uint32_t>(cap.max_inline_data, sizeof(uint64_t));
  return cap;
}

QpSpec SpecOf(const ibv_qp_init_attr_ex& wish, QpType type, const ibv_qp_cap& cap) {
  QpSpec spec{.type = type,
              .send = {.capacity = cap.max_send_wr,
                       .sges_max = cap.max_send_sge,
                       .inline_max = cap.max_inline_data},
              .receive = {.capacity = cap.max_recv_wr, .sges_max = cap.max_recv_sge}};
  if (type == QpType::kXrcReceive) {
    spec.xrc_domain = Cast(wish.xrcd).handle.get();
    return spec;
  }
  spec.send_cq = &Cast(wish.send_cq).handle;
  if (type == QpType::kXrcSend) return spec;
  spec.receive_cq = &Cast(wish.recv_cq).handle;
  if (wish.srq != nullptr) spec.srq = &Cast(wish.srq).handle;
  return spec;
}

// The handle, and the protection domain if it belongs to this queue pair alone.
ErrorOr<std::shared_ptr<Qp::Shared>> MakeShared(ibv_context* context,
                                                const ibv_qp_init_attr_ex& wish,
                                                const QpSpec& spec) {
  auto shared = std::make_shared<Qp::Shared>();
  const bool has_pd = spec.type != QpType::kXrcReceive;
  if (!has_pd) {
    auto domain = ProtectionDomain::Allocate(Cast(context).handle);
    if (!domain) return Fail(domain.error());
    shared->domain = std::move(*domain);
    shared->xrc_domain = spec.xrc_domain;
  }
  auto made = QueuePair::Create(has_pd ? Cast(wish.pd).domain() : shared->domain, spec);
  if (!made) return Fail(made.error());
  shared->handle = std::move(*made);
  return shared;
}

void FillBase(ibv_context* context, const ibv_qp_init_attr_ex& wish, const ibv_qp_cap& cap,
              Qp& qp) {
  ibv_qp& base = qp.qp_base;
  base.context = context;
  base.qp_context = wish.qp_context;
  base.pd = wish.qp_type != IBV_QPT_XRC_RECV ? wish.pd : nullptr;
  base.send_cq = wish.send_cq;
  base.recv_cq = wish.recv_cq;
  base.srq = wish.srq;
  base.qp_num = base.handle = qp.handle.number().value();
  base.state = IBV_QPS_RESET;
  base.qp_type = wish.qp_type;
  qp.creation = {.qp_context = wish.qp_context,
                 .send_cq = wish.send_cq,
                 .recv_cq = wish.recv_cq,
                 .srq = wish.srq,
                 .cap = cap,
                 .qp_type = wish.qp_type,
                 .sq_sig_all = wish.sq_sig_all};
  qp.send_ops = SendOpsOf(wish.qp_type);
}

ErrorOr<Qp*> Make(ibv_context* context, ibv_qp_init_attr_ex& wish) {
  if (const auto ok = CheckExtensions(wish); !ok) return Fail(ok.error());
  const auto type = TypeOf(wish.qp_type);
  if (!type) return Fail(type.error());
  if (const auto ok = CheckObjects(context, wish); !ok) return Fail(ok.error());
  const Options& options = Cast(context).handle.options();
  if (const auto ok = CheckCapacities(wish.cap, options); !ok) return Fail(ok.error());
  const ibv_qp_cap cap = Capacities(wish);
  auto shared = MakeShared(context, wish, SpecOf(wish, *type, cap));
  if (!shared) return Fail(shared.error());
  auto qp = std::make_unique<Qp>(std::move(*shared));
  FillBase(context, wish, cap, *qp);
  if (qp->qp_base.pd != nullptr) qp->pd_refcount = Refcount(Cast(wish.pd).users);
  if ((wish.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0) {
    qp->builder = std::make_unique<WorkBuilder>(*qp);
    FillWorkFunctions(*qp);
  }
  Cast(context).id_map.Add(qp->handle.number(), qp.get());
  wish.cap = cap;
  return qp.release();
}

}  // namespace

ibv_qp* CreateQpEx(ibv_context* context, ibv_qp_init_attr_ex* attributes) try {
  const auto qp = Make(context, *attributes);
  if (!qp) return Null("ibv_create_qp_ex", qp.error());
  return &(*qp)->qp_base;
} catch (...) {
  return ThrownNull("ibv_create_qp_ex");
}

// Opens an existing queue pair a second time, as another process would.
ibv_qp* OpenQp(ibv_context* context, ibv_qp_open_attr* attributes) try {
  constexpr auto kCall = "ibv_open_qp"sv;
  constexpr uint32_t kNeeded = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  if ((attributes->comp_mask & ~uint32_t{IBV_QP_OPEN_ATTR_CONTEXT}) != kNeeded ||
      attributes->qp_type != IBV_QPT_XRC_RECV || attributes->xrcd == nullptr) {
    return Null(kCall, Invalid("qp_num, xrcd and qp_type IBV_QPT_XRC_RECV are required"));
  }
  std::shared_ptr<Qp::Shared> shared;
  Cast(context).id_map.With(QpNumber{attributes->qp_num}, [&](Qp& qp) { shared = qp.shared; });
  if (!shared || shared->xrc_domain != Cast(attributes->xrcd).handle.get()) {
    return Null(kCall, Invalid("the XRC domain has no queue pair of this number"));
  }
  auto qp = std::make_unique<Qp>(std::move(shared));
  ibv_qp_init_attr_ex wish{};
  wish.qp_type = attributes->qp_type;
  const bool has_context = (attributes->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT) != 0;
  wish.qp_context = has_context ? attributes->qp_context : nullptr;
  FillBase(context, wish, {}, *qp);
  RefreshState(*qp);
  return &qp.release()->qp_base;
} catch (...) {
  return ThrownNull("ibv_open_qp");
}

}  // namespace verbena::ibverbs

using namespace verbena::ibverbs;  // NOLINT(google-build-using-namespace): the verbs are global

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) try {
  ibv_qp_init_attr_ex extended = Extended(*attributes, pd);
  const auto qp = Make(pd->context, extended);
  if (!qp) return Null("ibv_create_qp", qp.error());
  attributes->cap = extended.cap;
  return &(*qp)->qp_base;
} catch (...) {
  return ThrownNull("ibv_create_qp");
}

int ibv_destroy_qp(ibv_qp* qp) try {
  Qp& own = Cast(qp);
  const verbena::QpNumber number = own.handle.number();
  IdMap& id_map = Cast(qp->context).id_map;
  // The last context that opened it destroys it; only the first gets its events.
  if (own.shared.use_count() == 1) {
    // Another thread may be about to return an event for it, or to record a failure, and read its
    // state.
    const auto ended = id_map.EndQp([&] { return own.handle.Destroy(); });
    if (!ended) return Failed("ibv_destroy_qp", ended.error());
  }
  id_map.Remove(number, &own);
  AcksOf(*qp, qp->events_completed).WaitFor(own.async_events);
  delete &own;
  return 0;
} catch (...) {
  return Thrown("ibv_destroy_qp");
}

ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  Qp& own = Cast(qp);
  return own.builder != nullptr ? &own : nullptr;
}

// Messages are copied front to back, but a page that is absent may arrive later than the page after
// it.
int ibv_query_qp_data_in_order(ibv_qp* /*qp*/, ibv_wr_opcode /*opcode*/, uint32_t /*flags*/) {
  return 0;
}
