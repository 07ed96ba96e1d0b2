#pragma once

#include <cstdint>
#include <optional>

#include "transport/cm/cm_peer.h"
#include "verbena/cm_event.h"
#include "wire/mad/cm_mad.h"

namespace verbena::transport {

// An event of a connection or of a SIDR exchange, for its consumer. A value type.
struct CmRaisedEvent {
  CmEventType type{};
  wire::CommId connection{};   // the local id, or...
  wire::SidrRequestId sidr{};  // ...the id of a SIDR exchange
  CmPeer peer{};
  // The message that caused it, with its private data; nullopt if a timer or a call did.
  std::optional<wire::CmMessage> message = {};
};

}  // namespace verbena::transport
