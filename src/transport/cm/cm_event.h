#pragma once

#include <cstdint>
#include <optional>

#include "verbena/ip_address.h"
#include "wire/mad/cm_mad.h"

namespace verbena::transport {

// What the consumer of a connection manager is told, as librdmacm names it.
enum class CmEventType : uint8_t {
  kConnectRequest,   // a REQ: Accept, Reject or SendMra
  kConnectResponse,  // a REP: Establish, Reject or SendMra
  kEstablished,      // of the passive side: an RTU, or data that arrived before it
  kRejected,         // a REJ, ours for a stale REP included; the connection is gone
  kUnreachable,      // no answer in time; the connection is gone
  kDisconnected,     // a DREQ, which Disconnect answers; a DREP; or no answer to our DREQ
  kTimewaitExit,     // the QP number of a connection that is gone may be used again
  kSidrRequest,      // a SIDR_REQ: AnswerSidr
  kSidrResponse,     // a SIDR_REP
  kSidrUnreachable,  // no answer in time
};

[[nodiscard]] const char* NameOf(CmEventType type);

// A value type.
struct CmEvent {
  CmEventType type{};
  wire::CommId connection{};   // the local id, or...
  wire::SidrRequestId sidr{};  // ...of an exchange of SIDR messages
  IpAddress peer{};
  // That caused it, with its private data; none where a timer or a call did.
  std::optional<wire::CmMessage> message = {};
};

}  // namespace verbena::transport
