#include "rdmacm/objects/reported_event.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "ibverbs/failure.h"
#include "rdmacm/objects/address.h"
#include "rdmacm/objects/group.h"
#include "rdmacm/objects/parameters.h"
#include "rdmacm/objects/path.h"
#include "rdmacm/objects/qp_transition.h"
#include "rdmacm/objects/request.h"

namespace verbena::rdmacm {
namespace {

void Set(ReportedEvent& event, rdma_cm_event_type type, int status = 0) {
  event.event = type;
  event.status = status;
}

// `param` is one of the two structures of parameters.
void CopyPrivateData(const CmPrivateData& from, ReportedEvent& event, auto& param) {
  if (from.size == 0) return;
  event.private_data = from.bytes;
  param.private_data = event.private_data.data();
  param.private_data_len = from.size;
}

// The program sees the peer's limits from its own side: what the peer serves is what the program
// may have outstanding.
void CopyConnection(const ConnectionParameters& peer, ReportedEvent& event) {
  rdma_conn_param& param = event.param.conn;
  CopyPrivateData(peer.private_data, event, param);
  param.responder_resources = peer.initiator_depth;
  param.initiator_depth = peer.responder_resources;
  param.flow_control = peer.flow_control ? 1 : 0;
  param.retry_count = peer.retry_count;
  param.rnr_retry_count = peer.rnr_retry_count;
  param.srq = peer.has_srq ? 1 : 0;
  param.qp_num = peer.qp.value();
}

bool OnRequest(const CmEvent& from, ReportedEvent& event) {
  Id& listener = *event.counted;
  if (IsDatagram(listener)) {
    CopyPrivateData(from.peer.private_data, event, event.param.ud);
  } else {
    CopyConnection(from.peer, event);
  }
  Set(event, RDMA_CM_EVENT_CONNECT_REQUEST);
  const auto taken = TakeRequest(listener, from, event);
  if (!taken) Log(LogLevel::kWarning, "a connection request is dropped", taken.error().text);
  return taken.has_value();
}

// If the id has a queue pair, the connection is completed here; otherwise the program does so and
// calls rdma_establish. Over iWARP it is always completed here, as programs expect it of an RNIC.
void OnResponse(const CmEvent& from, ReportedEvent& event) {
  Id& id = *event.counted;
  const ConnectionParameters& peer = from.peer;
  CopyConnection(peer, event);
  Set(event, RDMA_CM_EVENT_CONNECT_RESPONSE);
  id.remote_ece = EceOf(peer);
  if (!id.agreement) return;
  id.agreement->peer_psn = peer.psn;
  id.agreement->peer_qp = peer.qp;
  id.agreement->responder_resources = peer.initiator_depth;
  id.agreement->initiator_depth = peer.responder_resources;
  id.agreement->rnr_retry_count = peer.rnr_retry_count;
  if (id.qp == nullptr && !IsIwarp(id)) return;
  auto done = MakeReady(id, {.responder_resources = peer.initiator_depth,
                             .initiator_depth = peer.responder_resources});
  if (done) done = id.handle.Establish();
  if (done) {
    Set(event, RDMA_CM_EVENT_ESTABLISHED);
    return;
  }
  static_cast<void>(MoveToError(id));
  id.has_failed_to_connect = true;
  Set(event, RDMA_CM_EVENT_CONNECT_ERROR, -ibverbs::Failed("rdma_get_cm_event", done.error()));
}

bool OnRejected(const CmEvent& from, ReportedEvent& event) {
  Id& id = *event.counted;
  if (id.has_failed_to_connect) return false;
  if (IsDatagram(id)) {
    CopyPrivateData(from.peer.private_data, event, event.param.ud);
    Set(event, RDMA_CM_EVENT_UNREACHABLE, from.reason);
    return true;
  }
  CopyPrivateData(from.peer.private_data, event, event.param.conn);
  Set(event, RDMA_CM_EVENT_REJECTED, from.reason);
  static_cast<void>(MoveToError(id));
  return true;
}

void OnDatagramService(const CmEvent& from, ReportedEvent& event) {
  const Id& id = *event.counted;
  rdma_ud_param& param = event.param.ud;
  CopyPrivateData(from.peer.private_data, event, param);
  if (from.reason != 0) {
    Set(event, RDMA_CM_EVENT_UNREACHABLE, from.reason);
    return;
  }
  const auto path = AddressTo(id, RemoteOf(id).ip);
  if (!path) {
    Set(event, RDMA_CM_EVENT_ADDR_ERROR, -ibverbs::Failed("rdma_get_cm_event", path.error()));
    return;
  }
  param.ah_attr = *path;
  param.qp_num = from.peer.qp.value();
  param.qkey = from.peer.qkey.value();
  Set(event, RDMA_CM_EVENT_ESTABLISHED);
}

bool OnPosted(ReportedEvent& event) {
  Id& id = *event.counted;
  PostedEvent posted;
  {
    const MutexLock lock(id.mutex);
    if (id.posted.empty()) return false;
    posted = std::move(id.posted.front());
    id.posted.pop_front();
  }
  Set(event, posted.type, posted.status);
  if (posted.group == nullptr) return true;
  const auto joined = FinishJoin(id, *posted.group, event.param.ud);
  if (!joined) {
    Set(event, RDMA_CM_EVENT_MULTICAST_ERROR,
        -ibverbs::Failed("rdma_get_cm_event", joined.error()));
  }
  return true;
}

// False if the program does not get the event.
bool Fill(const CmEvent& from, ReportedEvent& event) {
  switch (from.type) {
    case CmEventType::kConnectRequest:
    case CmEventType::kSidrRequest:
      return OnRequest(from, event);
    case CmEventType::kConnectResponse:
      OnResponse(from, event);
      return true;
    case CmEventType::kEstablished:
      Set(event, RDMA_CM_EVENT_ESTABLISHED);
      return true;
    case CmEventType::kRejected:
      return OnRejected(from, event);
    case CmEventType::kUnreachable:
    case CmEventType::kSidrUnreachable:
      Set(event, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
      return true;
    case CmEventType::kDisconnected:
      Set(event, RDMA_CM_EVENT_DISCONNECTED);
      return !event.counted->has_failed_to_connect;
    case CmEventType::kTimewaitExit:
      Set(event, RDMA_CM_EVENT_TIMEWAIT_EXIT);
      return true;
    case CmEventType::kSidrResponse:
      OnDatagramService(from, event);
      return true;
    case CmEventType::kPosted:
      return OnPosted(event);
  }
  return false;
}

}  // namespace

std::unique_ptr<ReportedEvent> Translate(const CmEvent& from) {
  auto event = std::make_unique<ReportedEvent>();
  const auto report = [&](Id& id) {
    id.events.Report();
    event->counted = &id;
  };
  if (!TheIdTable().With(FromUser(from.user), report)) return nullptr;
  event->id = event->counted;
  return Fill(from, *event) ? std::move(event) : nullptr;
}

}  // namespace verbena::rdmacm
