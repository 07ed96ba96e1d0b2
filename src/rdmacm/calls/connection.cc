// Establishing and ending connections, and the lookup of datagram services.

#include <cxxabi.h>
#include <rdma/rdma_cma.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "rdmacm/failure.h"
#include "rdmacm/objects/completion.h"
#include "rdmacm/objects/id.h"
#include "rdmacm/objects/parameters.h"
#include "rdmacm/objects/path.h"
#include "rdmacm/objects/qp_transition.h"
#include "rdmacm/objects/random_psn.h"

namespace verbena::rdmacm {
namespace {

// The exponent of 4.096 us: half a second, longer than twice the packet lifetime, as in Linux.
constexpr uint8_t kAckTimeout = 17;

ErrorOr<CmPrivateData> DataOf(const Id& id, const rdma_conn_param* given, size_t max) {
  std::vector<std::byte> data = id.connect_data;
  if (given != nullptr) {
    const auto more = BytesOf(given->private_data, given->private_data_len);
    data.insert(data.end(), more.begin(), more.end());
  }
  return PrivateData(data, max);
}

// The maximum of the device: RDMA_MAX_RESP_RES and RDMA_MAX_INIT_DEPTH.
constexpr uint8_t kMostReads = RDMA_MAX_RESP_RES;
static_assert(RDMA_MAX_INIT_DEPTH == kMostReads);

void SetReadLimits(Id& id, const rdma_conn_param* given) {
  const uint8_t responder = given != nullptr ? given->responder_resources : kMostReads;
  const uint8_t initiator = given != nullptr ? given->initiator_depth : kMostReads;
  id.responder_resources = Limit(responder, id.device->responder_resources_max());
  id.initiator_depth = Limit(initiator, id.device->initiator_depth_max());
}

// The limits of an accepted connection are at most those of the request and of the device.
void SetReadLimitsOfRequest(Id& id, const rdma_conn_param* given) {
  const uint8_t responder = given != nullptr ? given->responder_resources : kMostReads;
  const uint8_t initiator = given != nullptr ? given->initiator_depth : kMostReads;
  id.responder_resources =
      Limit(responder, std::min(id.responder_resources, id.device->responder_resources_max()));
  id.initiator_depth =
      Limit(initiator, std::min(id.initiator_depth, id.device->initiator_depth_max()));
}

ErrorOr<void> Connect(Id& id, const rdma_conn_param* given) {
  if (auto ok = CheckParameters(id, given); !ok) return ok;
  if (id.state != IdState::kRouteResolved) {
    return Fail(Invalid("call rdma_resolve_route first, and rdma_connect only once"));
  }
  const auto data = DataOf(id, given, IsDatagram(id) ? kSidrRequestDataMax : kRequestDataMax);
  if (!data) return Fail(data.error());
  SetReadLimits(id, given);
  ConnectionParameters parameters = ParametersOf(id, given);
  parameters.private_data = *data;
  parameters.psn = RandomPsn();
  parameters.mtu = MtuOf(id);
  parameters.ack_timeout = id.options.ack_timeout.value_or(kAckTimeout);
  parameters.traffic_class = id.options.type_of_service;
  if (!IsDatagram(id)) {
    id.agreement = {.own_psn = parameters.psn,
                    .retry_count = parameters.retry_count,
                    .peer_rnr_retry_count = parameters.rnr_retry_count,
                    .ack_timeout = parameters.ack_timeout,
                    .mtu = parameters.mtu};
  }
  // The response may arrive before this call returns.
  id.state = IdState::kConnect;
  auto sent = id.handle.Connect(LocalOf(id).ip, RemoteOf(id), parameters);
  if (!sent) id.state = IdState::kRouteResolved;
  if (sent) id.connect_data.clear();
  return sent;
}

ErrorOr<void> AcceptDatagrams(Id& id, const rdma_conn_param* given) {
  const auto data = DataOf(id, given, kSidrReplyDataMax);
  if (!data) return Fail(data.error());
  ConnectionParameters parameters = ParametersOf(id, given);
  parameters.private_data = *data;
  return id.handle.Accept(parameters);
}

ErrorOr<void> Accept(Id& id, const rdma_conn_param* given) {
  if (auto ok = CheckParameters(id, given); !ok) return ok;
  if (id.state != IdState::kConnect)
    return Fail(Invalid("the id is not from a connection request"));
  if (IsDatagram(id)) return AcceptDatagrams(id, given);
  if (!id.agreement) return Fail(Invalid("the id is not from a connection request"));
  const auto data = DataOf(id, given, kReplyDataMax);
  if (!data) return Fail(data.error());
  SetReadLimitsOfRequest(id, given);
  ConnectionParameters parameters = ParametersOf(id, given);
  parameters.private_data = *data;
  parameters.psn = id.agreement->own_psn;
  id.agreement->peer_rnr_retry_count = parameters.rnr_retry_count;
  auto done = MakeReady(
      id, {.responder_resources = id.responder_resources, .initiator_depth = id.initiator_depth});
  if (!done) return done;
  done = id.handle.Accept(parameters);
  if (!done) static_cast<void>(MoveToError(id));
  return done;
}

int Reject(rdma_cm_id* id, const void* data, uint8_t size, uint16_t reason, const char* call) {
  if (id == nullptr || !Cast(id).handle) return MinusOne(EINVAL);
  const size_t max = IsDatagram(Cast(id)) ? kSidrReplyDataMax : kRejectDataMax;
  const auto private_data = PrivateData(BytesOf(data, size), max);
  if (!private_data) return Failed(call, private_data.error());
  const auto ok = Cast(id).handle.Reject(*private_data, reason);
  return ok ? 0 : Failed(call, ok.error());
}

}  // namespace
}  // namespace verbena::rdmacm

using namespace verbena::rdmacm;  // NOLINT(google-build-using-namespace): the calls are global

int rdma_connect(rdma_cm_id* id, rdma_conn_param* parameters) try {
  if (id == nullptr) return MinusOne(EINVAL);
  const auto ok = Connect(Cast(id), parameters);
  return ok ? Complete(Cast(id)) : Failed("rdma_connect", ok.error());
} catch (abi::__forced_unwind&) {
  throw;  // pthread_cancel of a thread in a synchronous call
} catch (...) {
  return MinusOne(Thrown("rdma_connect"));
}

int rdma_accept(rdma_cm_id* id, rdma_conn_param* parameters) try {
  if (id == nullptr) return MinusOne(EINVAL);
  const auto ok = Accept(Cast(id), parameters);
  if (!ok) return Failed("rdma_accept", ok.error());
  if (!IsDatagram(Cast(id))) return Complete(Cast(id));
  // An accepted datagram service gets no further event.
  if (Cast(id).is_synchronous()) AcknowledgeKept(Cast(id));
  return 0;
} catch (abi::__forced_unwind&) {
  throw;  // pthread_cancel of a thread in a synchronous call
} catch (...) {
  return MinusOne(Thrown("rdma_accept"));
}

int rdma_reject(rdma_cm_id* id, const void* private_data, uint8_t size) try {
  return Reject(id, private_data, size, 0, "rdma_reject");
} catch (...) {
  return MinusOne(Thrown("rdma_reject"));
}

int rdma_reject_ece(rdma_cm_id* id, const void* private_data, uint8_t size) try {
  constexpr uint16_t kVendorOption = 35;  // IBA 12.6.7.2: vendor option is not supported
  return Reject(id, private_data, size, kVendorOption, "rdma_reject_ece");
} catch (...) {
  return MinusOne(Thrown("rdma_reject_ece"));
}

int rdma_establish(rdma_cm_id* id) try {
  // If the id has a queue pair, rdma_get_cm_event establishes the connection.
  if (id == nullptr || id->qp != nullptr) return MinusOne(EINVAL);
  const auto ok = Cast(id).handle.Establish();
  return ok ? 0 : Failed("rdma_establish", ok.error());
} catch (...) {
  return MinusOne(Thrown("rdma_establish"));
}

int rdma_notify(rdma_cm_id* id, ibv_event_type event) try {
  if (id == nullptr || !Cast(id).handle) return MinusOne(EINVAL);
  if (event != IBV_EVENT_COMM_EST) return 0;  // the connection manager ignores other events
  const auto ok = Cast(id).handle.NotifyEstablished();
  return ok ? 0 : Failed("rdma_notify", ok.error());
} catch (...) {
  return MinusOne(Thrown("rdma_notify"));
}

int rdma_disconnect(rdma_cm_id* id) try {
  if (id == nullptr || id->verbs == nullptr || !Cast(id).handle) return MinusOne(EINVAL);
  if (const auto ok = MoveToError(Cast(id)); !ok) return Failed("rdma_disconnect", ok.error());
  // Disconnecting a connection that has ended is no error.
  static_cast<void>(Cast(id).handle.Disconnect());
  return Complete(Cast(id));
} catch (abi::__forced_unwind&) {
  throw;  // pthread_cancel of a thread in a synchronous call
} catch (...) {
  return MinusOne(Thrown("rdma_disconnect"));
}
