#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "queue/wqe.h"
#include "wire/roce/opcode.h"

// Maps work requests to the opcodes of their packets, for all services.

namespace verbena::transport {

namespace internal {

// The operation of all packets of a request, and what its last packet carries in addition.
struct MessageKind {
  wire::Operation operation;
  wire::Companion companion = wire::Companion::kNone;
};

// In the order of SendOpcode. The opcodes from kBindWindow on have no packets.
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

// The opcode of the packet at a position in the message of a request. nullptr if the service has no
// such packet, so that it cannot execute the request, or if the request sends no packets.
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

// The position of packet number `packet`, from 0, in a message of `count` packets.
[[nodiscard]] constexpr wire::Position PositionOf(uint32_t packet, uint32_t count) {
  if (count == 1) return wire::Position::kOnly;
  if (packet == 0) return wire::Position::kFirst;
  return packet + 1 == count ? wire::Position::kLast : wire::Position::kMiddle;
}

}  // namespace verbena::transport
