// Asynchronous events: ibv_get_async_event and ibv_ack_async_event.

#include <cxxabi.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <optional>

#include "ibverbs/failure.h"
#include "ibverbs/objects/event_acks.h"
#include "ibverbs/objects/fork.h"
#include "ibverbs/objects/objects.h"
#include "ibverbs/objects/qp.h"
#include "verbena/async_event.h"

namespace verbena::ibverbs {
namespace {

ibv_event_type TypeOf(AsyncEventType type) {
  switch (type) {
    case AsyncEventType::kCommunicationEstablished:
      return IBV_EVENT_COMM_EST;
    case AsyncEventType::kSendQueueDrained:
      return IBV_EVENT_SQ_DRAINED;
    case AsyncEventType::kLastWqeReached:
      return IBV_EVENT_QP_LAST_WQE_REACHED;
    case AsyncEventType::kQpFatal:
      return IBV_EVENT_QP_FATAL;
    case AsyncEventType::kQpRequestError:
      return IBV_EVENT_QP_REQ_ERR;
    case AsyncEventType::kQpAccessError:
      return IBV_EVENT_QP_ACCESS_ERR;
    case AsyncEventType::kCqError:
      return IBV_EVENT_CQ_ERR;
    case AsyncEventType::kSrqLimitReached:
      return IBV_EVENT_SRQ_LIMIT_REACHED;
    case AsyncEventType::kGidChange:
      return IBV_EVENT_GID_CHANGE;
  }
  return IBV_EVENT_DEVICE_FATAL;
}

// Counts an event that is handed out: the object cannot be destroyed until it is acknowledged.
template <class Object>
void Count(Object& object) {
  object.async_events.fetch_add(1, std::memory_order_release);
}

// False if the program has destroyed the object since the event was raised.
bool Fill(IdMap& id_map, const AsyncEvent& event, ibv_async_event& out) {
  out.event_type = TypeOf(event.type);
  switch (event.type) {
    case AsyncEventType::kCqError:
      return id_map.With(event.cq, [&](Cq& cq) {
        Count(cq);
        out.element.cq = ibv_cq_ex_to_cq(&cq);
      });
    case AsyncEventType::kSrqLimitReached:
      return id_map.With(event.srq, [&](Srq& srq) {
        Count(srq);
        out.element.srq = &srq;
      });
    case AsyncEventType::kGidChange:
      out.element.port_num = 1;
      return true;
    case AsyncEventType::kCommunicationEstablished:
    case AsyncEventType::kSendQueueDrained:
    case AsyncEventType::kLastWqeReached:
    case AsyncEventType::kQpFatal:
    case AsyncEventType::kQpRequestError:
    case AsyncEventType::kQpAccessError:
      return id_map.With(event.qp, [&](Qp& qp) {
        Count(qp);
        RefreshState(qp);
        out.element.qp = &qp.qp_base;
      });
  }
  return false;
}

}  // namespace
}  // namespace verbena::ibverbs

using namespace verbena::ibverbs;  // NOLINT(google-build-using-namespace): the verbs are global

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) try {
  Context& own = Cast(context);
  while (true) {
    // Without an event, WaitEvent leaves the reason in errno. An event whose object was destroyed
    // leaves errno 0 and is skipped; so does a forked child, which IsForked finds out.
    errno = 0;
    const auto taken = own.handle.WaitEvent();
    if (!taken && errno != 0) return -1;
    if (!taken && IsForked(own, "ibv_get_async_event")) return -1;
    if (taken && Fill(own.id_map, *taken, *event)) return 0;
  }
} catch (abi::__forced_unwind&) {
  throw;  // pthread_cancel while the thread waits
} catch (...) {
  return MinusOne(Thrown("ibv_get_async_event"));
}

void ibv_ack_async_event(ibv_async_event* event) {
  switch (event->event_type) {
    case IBV_EVENT_CQ_ERR: {
      ibv_cq& cq = *event->element.cq;
      return AcksOf(cq, cq.async_events_completed).Acknowledge(1);
    }
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED: {
      ibv_srq& srq = *event->element.srq;
      return AcksOf(srq, srq.events_completed).Acknowledge(1);
    }
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED: {
      ibv_qp& qp = *event->element.qp;
      return AcksOf(qp, qp.events_completed).Acknowledge(1);
    }
    default:
      return;  // events of the port or the device, which are never destroyed, need no count
  }
}
