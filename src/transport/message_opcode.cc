#include "transport/message_opcode.h"

#include <array>
#include <cstddef>

#include "base/check.h"

namespace verbena::transport {
namespace {

using queue::SendOpcode;

constexpr size_t kServices = 6;
constexpr size_t kPositions = 4;

constexpr size_t IndexOf(wire::Service service, SendOpcode opcode, wire::Position position) {
  return (static_cast<size_t>(service) * queue::kSendOpcodeCount + static_cast<size_t>(opcode)) *
             kPositions +
         static_cast<size_t>(position);
}

wire::Operation OperationOf(SendOpcode opcode) {
  switch (opcode) {
    case SendOpcode::kSend:
    case SendOpcode::kSendWithImmediate:
    case SendOpcode::kSendWithInvalidate:
    case SendOpcode::kRegisterAndSend:
      return wire::Operation::kSend;
    case SendOpcode::kWrite:
    case SendOpcode::kWriteWithImmediate:
      return wire::Operation::kWrite;
    case SendOpcode::kRead:
      return wire::Operation::kReadRequest;
    case SendOpcode::kCompareAndSwap:
      return wire::Operation::kCompareSwap;
    case SendOpcode::kFetchAndAdd:
      return wire::Operation::kFetchAdd;
    case SendOpcode::kAtomicWrite:
      return wire::Operation::kAtomicWrite;
    case SendOpcode::kFlush:
      return wire::Operation::kFlush;
    case SendOpcode::kBindWindow:
    case SendOpcode::kLocalInvalidate:
    case SendOpcode::kRegister:
    case SendOpcode::kDelay:
      break;
  }
  UNREACHABLE();
}

// Of the packet that ends the message.
wire::Companion CompanionOf(SendOpcode opcode) {
  if (queue::PropertiesOf(opcode).carries_immediate) return wire::Companion::kImmediate;
  return opcode == SendOpcode::kSendWithInvalidate ? wire::Companion::kInvalidate
                                                   : wire::Companion::kNone;
}

auto MakeRows() {
  std::array<const wire::OpcodeInfo*, kServices * queue::kSendOpcodeCount * kPositions> rows{};
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto position = static_cast<wire::Position>(i % kPositions);
    const auto opcode = static_cast<SendOpcode>(i / kPositions % queue::kSendOpcodeCount);
    const auto service = static_cast<wire::Service>(i / kPositions / queue::kSendOpcodeCount);
    if (queue::PropertiesOf(opcode).is_local) continue;
    const bool ends = position == wire::Position::kLast || position == wire::Position::kOnly;
    rows[i] = wire::FindOpcode(service, OperationOf(opcode), position,
                               ends ? CompanionOf(opcode) : wire::Companion::kNone);
  }
  return rows;
}

}  // namespace

const wire::OpcodeInfo* FindOpcode(wire::Service service, SendOpcode opcode,
                                   wire::Position position) {
  // Looked up once for all queue pairs.
  static const auto kRows = MakeRows();
  return kRows[IndexOf(service, opcode, position)];
}

}  // namespace verbena::transport
