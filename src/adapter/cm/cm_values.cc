#include "adapter/cm/cm_values.h"

#include <algorithm>
#include <type_traits>
#include <variant>

namespace verbena::adapter {
namespace {

using wire::CmServiceType;

constexpr uint8_t kXrcTransport = 1;  // of CmReq::extended_transport

// A message is retransmitted if there is no response within 4.096 us << 18, one second: short
// enough for a connection that is being made while the process with the RoCEv2 port dies. If the
// consumer takes longer, an MRA is sent. With 15 retries, a host that does not respond is given up
// after 17 seconds.
constexpr wire::CmTimeout kResponseTimeout{18};
constexpr uint8_t kCmRetries = 15;
// How long a responder may delay an acknowledgement: the same as in ibv_query_device
// (local_ca_ack_delay), and as in Soft-RoCE.
constexpr wire::CmTimeout kTargetAckDelay{15};
constexpr uint8_t kFailoverUnsupported = 1;  // IBA 12.7.19: no alternate path
constexpr uint8_t kPacketRate = 3;           // 10 Gb/s, in the code of IBA 15.2.5.16
// RoCE has no LIDs: the path is not subnet-local, and has the permissive LID, as in Linux.
constexpr wire::Lid kPermissiveLid{0xFFFF};

template <size_t kBytes>
wire::PrivateData<kBytes> Prefixed(const wire::IpCmHeader& header, const CmPrivateData& data) {
  wire::PrivateData<kBytes> all;
  header.Serialize(std::span(all.bytes).first(wire::IpCmHeader::kSize));
  std::ranges::copy(data.view(), all.bytes.begin() + wire::IpCmHeader::kSize);
  return all;
}

CmPrivateData DataOf(std::span<const std::byte> bytes) {
  CmPrivateData data;
  std::ranges::copy(bytes, data.bytes.begin());
  data.size = static_cast<uint8_t>(bytes.size());
  return data;
}

CmService ServiceOf(const wire::CmReq& req) {
  switch (req.service_type) {
    case CmServiceType::kRc:
      return CmService::kRc;
    case CmServiceType::kUc:
      return CmService::kUc;
    case CmServiceType::kRd:  // refused before
    case CmServiceType::kExtended:
      break;
  }
  return CmService::kXrc;
}

CmServiceType ServiceTypeOf(CmService service) {
  switch (service) {
    case CmService::kUc:
      return CmServiceType::kUc;
    case CmService::kXrc:
      return CmServiceType::kExtended;
    case CmService::kRc:
    case CmService::kUd:      // no REQ
    case CmService::kStream:  // likewise
      break;
  }
  return CmServiceType::kRc;
}

wire::CmEce EceOf(const ConnectionParameters& parameters) {
  return {.vendor_id = parameters.vendor_options.vendor_id & 0xFFFFFF,
          .options = parameters.vendor_options.options};
}

// --- The peer's values in each message. ---

ConnectionParameters PeerOf(const wire::CmReq& req) {
  return {
      .qp = req.local_qp,
      .service = ServiceOf(req),
      .psn = req.starting_psn,
      .responder_resources = req.responder_resources,
      .initiator_depth = req.initiator_depth,
      .retry_count = req.retry_count,
      .rnr_retry_count = req.rnr_retry_count,
      .flow_control = req.flow_control,
      .has_srq = req.srq,
      .mtu = static_cast<PathMtu>(req.path_mtu.value()),
      .ack_timeout = req.primary.ack_timeout.value(),
      .traffic_class = req.primary.traffic_class,
      .hop_limit = req.primary.hop_limit,
      .qkey = {},
      .vendor_options = {req.ece.vendor_id, req.ece.options},
      .private_data = DataOf(std::span(req.private_data.bytes).subspan(wire::IpCmHeader::kSize))};
}

ConnectionParameters PeerOf(const wire::CmRep& rep) {
  ConnectionParameters peer;
  peer.qp = rep.local_qp;
  peer.psn = rep.starting_psn;
  peer.responder_resources = rep.responder_resources;
  peer.initiator_depth = rep.initiator_depth;
  peer.rnr_retry_count = rep.rnr_retry_count;
  peer.flow_control = rep.flow_control;
  peer.has_srq = rep.srq;
  peer.vendor_options = {rep.ece.vendor_id, rep.ece.options};
  peer.private_data = DataOf(rep.private_data.bytes);
  return peer;
}

ConnectionParameters PeerOf(const wire::CmSidrReq& req) {
  ConnectionParameters peer;
  peer.service = CmService::kUd;
  peer.private_data = DataOf(std::span(req.private_data.bytes).subspan(wire::IpCmHeader::kSize));
  return peer;
}

ConnectionParameters PeerOf(const wire::CmSidrRep& rep) {
  ConnectionParameters peer;
  peer.qp = rep.qp;
  peer.service = CmService::kUd;
  peer.qkey = rep.q_key;
  peer.private_data = DataOf(rep.private_data.bytes);
  return peer;
}

template <class Message>
ConnectionParameters PeerOf(const Message& message) {
  ConnectionParameters peer;
  peer.private_data = DataOf(message.private_data.bytes);
  return peer;
}

uint16_t ReasonOf(const wire::CmMessage& message) {
  if (const auto* const rej = std::get_if<wire::CmRej>(&message)) {
    return static_cast<uint16_t>(rej->reason);
  }
  const auto* const rep = std::get_if<wire::CmSidrRep>(&message);
  return rep == nullptr ? uint16_t{0} : static_cast<uint16_t>(rep->status);
}

// The ports of a request: of the service, and of the peer. False if it has none.
template <class Request>
bool ReadPorts(const Request& request, CmEvent& event) {
  const auto service = wire::IpCmServiceOf(request.service_id);
  const auto header = wire::IpCmHeader::Parse(request.private_data.bytes);
  if (!service || !header) return false;
  event.local.port = service->port;
  event.remote.port = header->source_port;
  return true;
}

}  // namespace

wire::CmReq RequestOf(const ConnectionParameters& parameters, const wire::IpCmService& service,
                      const wire::IpCmHeader& addresses) {
  wire::CmReq req;
  req.service_id = wire::ServiceIdOf(service);
  req.local_qp = parameters.qp;
  req.ece = EceOf(parameters);
  req.responder_resources = parameters.responder_resources;
  req.initiator_depth = parameters.initiator_depth;
  req.remote_response_timeout = kResponseTimeout;
  req.service_type = ServiceTypeOf(parameters.service);
  req.flow_control = parameters.flow_control;
  req.starting_psn = parameters.psn;
  req.local_response_timeout = kResponseTimeout;
  req.retry_count = parameters.retry_count;
  req.p_key = wire::kDefaultPKey;
  req.path_mtu = wire::CmMtu(static_cast<uint8_t>(parameters.mtu));
  req.rnr_retry_count = parameters.rnr_retry_count;
  req.max_cm_retries = kCmRetries;
  req.srq = parameters.has_srq;
  req.extended_transport = parameters.service == CmService::kXrc ? kXrcTransport : uint8_t{0};
  req.primary.local_lid = kPermissiveLid;
  req.primary.remote_lid = kPermissiveLid;
  req.primary.local_gid = addresses.source;
  req.primary.remote_gid = addresses.destination;
  req.primary.packet_rate = kPacketRate;
  req.primary.traffic_class = parameters.traffic_class;
  req.primary.hop_limit = parameters.hop_limit;
  req.primary.ack_timeout = wire::AckTimeout(parameters.ack_timeout);
  req.private_data = Prefixed<92>(addresses, parameters.private_data);
  return req;
}

wire::CmSidrReq SidrRequestOf(const ConnectionParameters& parameters,
                              const wire::IpCmService& service, const wire::IpCmHeader& addresses) {
  return {.request_id = {},
          .p_key = wire::kDefaultPKey,
          .service_id = wire::ServiceIdOf(service),
          .private_data = Prefixed<216>(addresses, parameters.private_data)};
}

wire::CmRep ResponseOf(const ConnectionParameters& parameters) {
  wire::CmRep rep;
  rep.local_qp = parameters.qp;
  rep.ece = EceOf(parameters);
  rep.starting_psn = parameters.psn;
  rep.responder_resources = parameters.responder_resources;
  rep.initiator_depth = parameters.initiator_depth;
  rep.target_ack_delay = kTargetAckDelay;
  rep.failover = kFailoverUnsupported;
  rep.flow_control = parameters.flow_control;
  rep.rnr_retry_count = parameters.rnr_retry_count;
  rep.srq = parameters.has_srq;
  rep.private_data = wire::PrivateData<196>::From(parameters.private_data.view());
  return rep;
}

std::optional<CmEvent> EventOf(const transport::CmRaisedEvent& raised) {
  CmEvent event;
  event.type = raised.type;
  event.local.ip = raised.peer.local;
  event.remote.ip = raised.peer.address;
  if (!raised.message) return event;
  event.reason = ReasonOf(*raised.message);
  event.peer = std::visit([](const auto& message) { return PeerOf(message); }, *raised.message);
  if (const auto* const req = std::get_if<wire::CmReq>(&*raised.message)) {
    if (!ReadPorts(*req, event)) return std::nullopt;
  } else if (const auto* const sidr = std::get_if<wire::CmSidrReq>(&*raised.message)) {
    if (!ReadPorts(*sidr, event)) return std::nullopt;
  }
  return event;
}

}  // namespace verbena::adapter
