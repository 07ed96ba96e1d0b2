#pragma once

#include <cstdint>
#include <optional>

#include "transport/cm/cm_peer.h"
#include "verbena/cm_event.h"
#include "wire/mad/cm_mad.h"

namespace verbena::transport {

// What happened to a connection or to an exchange of SIDR messages, for its consumer. A value type.
struct CmRaisedEvent {
  CmEventType type{};
  wire::CommId connection{};   // the local id, or...
  wire::SidrRequestId sidr{};  // ...of an exchange of SIDR messages
  CmPeer peer{};
  // That caused it, with its private data; none where a timer or a call did.
  std::optional<wire::CmMessage> message = {};
};

}  // namespace verbena::transport
