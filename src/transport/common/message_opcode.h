#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "queue/wqe.h"
#include "wire/roce/opcode.h"

// Which packets a work request becomes: the same question for every service that cuts messages.

namespace verbena::transport {

namespace internal {

// What of a request goes on the wire, in its packets and with the last of them.
struct MessageKind {
  wire::Operation operation;
  wire::Companion companion = wire::Companion::kNone;
};

// In the order of SendOpcode. Those that end the list have no packets.
inline constexpr std::array kMessageKinds = {
    MessageKind{wire::Operation::kSend},
    MessageKind{wire::Operation::kSend, wire::Companion::kImmediate},
    MessageKind{wire::Operation::kSend, wire::Companion::kInvalidate},
    MessageKind{wire::Operation::kWrite},
    MessageKind{wire::Operation::kWrite, wire::Companion::kImmediate},
    MessageKind{wire::Operation::kReadRequest},
    MessageKind{wire::Operation::kCompareSwap},
    MessageKind{wire::Operation::kFetchAdd},
    MessageKind{wire::Operation::kAtomicWrite},
    MessageKind{wire::Operation::kFlush},
};
static_assert(kMessageKinds.size() == static_cast<size_t>(queue::SendOpcode::kBindWindow));

}  // namespace internal

// The row of a request and of a position in its message. nullptr if the service has no such packet,
// and so cannot execute the request, or if nothing of the request goes on the wire.
[[nodiscard]] inline const wire::OpcodeInfo* FindOpcode(wire::Service service,
                                                        queue::SendOpcode opcode,
                                                        wire::Position position) {
  const auto row =
      opcode == queue::SendOpcode::kRegisterAndSend ? queue::SendOpcode::kSend : opcode;
  if (static_cast<size_t>(row) >= internal::kMessageKinds.size()) return nullptr;
  const internal::MessageKind& kind = internal::kMessageKinds[static_cast<size_t>(row)];
  const bool ends = position == wire::Position::kLast || position == wire::Position::kOnly;
  return wire::FindOpcode(service, kind.operation, position,
                          ends ? kind.companion : wire::Companion::kNone);
}

// Where packet number `packet`, from 0, stands in a message of `count`.
[[nodiscard]] constexpr wire::Position PositionOf(uint32_t packet, uint32_t count) {
  if (count == 1) return wire::Position::kOnly;
  if (packet == 0) return wire::Position::kFirst;
  return packet + 1 == count ? wire::Position::kLast : wire::Position::kMiddle;
}

}  // namespace verbena::transport
