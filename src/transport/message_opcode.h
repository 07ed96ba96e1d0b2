#pragma once

#include <cstdint>

#include "queue/wqe.h"
#include "wire/roce/opcode.h"

// Which packets a work request becomes: the same question for every service that cuts messages.

namespace verbena::transport {

// The row of a request and of a position in its message. nullptr if the service has no such packet,
// and so cannot execute the request, or if nothing of the request goes on the wire.
[[nodiscard]] const wire::OpcodeInfo* FindOpcode(wire::Service service, queue::SendOpcode opcode,
                                                 wire::Position position);

// Where packet number `packet`, from 0, stands in a message of `count`.
[[nodiscard]] constexpr wire::Position PositionOf(uint32_t packet, uint32_t count) {
  if (count == 1) return wire::Position::kOnly;
  if (packet == 0) return wire::Position::kFirst;
  return packet + 1 == count ? wire::Position::kLast : wire::Position::kMiddle;
}

}  // namespace verbena::transport
