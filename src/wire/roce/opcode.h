#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "verbena/strong_id.h"

namespace verbena::wire {

// The opcode byte of the BTH: three bits for the service, five for the operation. Some combinations
// are undefined: see FindOpcode.
using Opcode = StrongId<struct OpcodeTag, uint8_t>;

enum class Service : uint8_t { kRc = 0, kUc = 1, kRd = 2, kUd = 3, kCnp = 4, kXrc = 5 };

enum class Operation : uint8_t {
  kSend,
  kWrite,
  kReadRequest,
  kReadResponse,
  kAcknowledge,
  kAtomicAcknowledge,
  kCompareSwap,
  kFetchAdd,
  kResync,
  kFlush,
  kAtomicWrite,
  kCongestionNotification,
};

// The position of the packet in its message, or in the response to a read.
enum class Position : uint8_t { kFirst, kMiddle, kLast, kOnly };

// The header of the last packet of a send or write.
enum class Companion : uint8_t { kNone, kImmediate, kInvalidate };

// The headers that may follow the BTH, in order.
enum class Extension : uint8_t {
  kRdeth,
  kDeth,
  kXrceth,
  kFeth,
  kReth,
  kAtomicEth,
  kAeth,
  kAtomicAckEth,
  kImmDt,
  kIeth,
};
inline constexpr std::size_t kExtensionCount = 10;

// Their sizes in bytes, in the order of Extension.
inline constexpr std::array<uint8_t, kExtensionCount> kExtensionSizes = {4,  8, 4, 4, 16,
                                                                         28, 4, 8, 4, 4};

// The allowed length of the payload.
enum class PayloadRule : uint8_t {
  kNone,
  kPathMtu,     // exactly the path MTU: first and middle packets
  kSome,        // 1 to the path MTU: last packets
  kAny,         // 0 to the path MTU
  kEightBytes,  // ATOMIC WRITE
  kReserved16,  // the reserved bytes of a congestion notification
};

// The properties of an opcode. Code uses these and never compares opcodes. All rows are in one
// table and are never copied; refer to them by pointer or reference.
struct OpcodeInfo {
  Opcode opcode{};
  Service service{};
  Operation operation{};
  Position position{};
  Companion companion{};
  PayloadRule payload{};
  bool is_request = false;
  bool is_response = false;
  uint8_t header_size = 0;  // the BTH and all extensions, in bytes
  uint16_t extensions = 0;  // bit n: the n-th Extension
  // The offset of each extension from the start of the BTH; 0 if the opcode does not have it.
  std::array<uint8_t, kExtensionCount> offsets{};
  std::string_view service_name;
  std::string_view operation_name;

  [[nodiscard]] constexpr std::size_t offset(Extension e) const {
    return offsets[static_cast<std::size_t>(e)];
  }
  [[nodiscard]] constexpr bool Has(Extension e) const { return offset(e) != 0; }
  [[nodiscard]] constexpr bool has_immediate() const { return companion == Companion::kImmediate; }
  [[nodiscard]] constexpr bool has_invalidate() const {
    return companion == Companion::kInvalidate;
  }
  [[nodiscard]] constexpr bool has_payload() const { return payload != PayloadRule::kNone; }
  [[nodiscard]] constexpr bool starts_message() const {
    return position == Position::kFirst || position == Position::kOnly;
  }
  [[nodiscard]] constexpr bool ends_message() const {
    return position == Position::kLast || position == Position::kOnly;
  }
  [[nodiscard]] constexpr bool is_atomic() const {
    return operation == Operation::kCompareSwap || operation == Operation::kFetchAdd;
  }

  // "RC SEND Last with Immediate"
  [[nodiscard]] std::string name() const;
};

namespace internal {

// Indexed by the opcode byte; a row without a name is an undefined opcode.
extern const std::array<OpcodeInfo, 256> kOpcodeTable;

// The inverse of the table, indexed by Describe.
extern const std::array<uint8_t, 6 << 8> kOpcodeOf;

// The description of an opcode as one number.
constexpr std::size_t Describe(Service service, Operation operation, Position position,
                               Companion companion) {
  return static_cast<std::size_t>(service) << 8 | static_cast<std::size_t>(operation) << 4 |
         static_cast<std::size_t>(position) << 2 | static_cast<std::size_t>(companion);
}

[[nodiscard]] inline const OpcodeInfo& RowOf(Opcode opcode) {
  const OpcodeInfo& row = kOpcodeTable[opcode.value()];
  CHECK(row.header_size != 0);
  return row;
}

}  // namespace internal

// nullptr for an opcode that the specification does not define.
[[nodiscard]] inline const OpcodeInfo* FindOpcode(Opcode opcode) {
  const OpcodeInfo& row = internal::kOpcodeTable[opcode.value()];
  return row.header_size == 0 ? nullptr : &row;
}

// The opcode of that description; nullptr if the service has none.
[[nodiscard]] inline const OpcodeInfo* FindOpcode(Service service, Operation operation,
                                                  Position position = Position::kOnly,
                                                  Companion companion = Companion::kNone) {
  const std::size_t description = internal::Describe(service, operation, position, companion);
  return FindOpcode(Opcode(internal::kOpcodeOf[description]));
}

// Whether a payload of `length` bytes is valid for the opcode on a path of that MTU. Parsing does
// not check it, because the responder answers a wrong length with a NAK. (IBA C9-92)
[[nodiscard]] bool PayloadFits(const OpcodeInfo& info, std::size_t length, std::size_t path_mtu);

[[nodiscard]] std::string ToString(Opcode opcode);

}  // namespace verbena::wire
