#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "verbena/strong_id.h"

namespace verbena::wire {

// The opcode byte of the base transport header: three bits say the service, five the operation.
// It may hold a combination that means nothing; FindOpcode knows.
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

// Where the packet stands in its message, or in the answer to a read.
enum class Position : uint8_t { kFirst, kMiddle, kLast, kOnly };

// What comes with the end of a send or write.
enum class Companion : uint8_t { kNone, kImmediate, kInvalidate };

// The headers that may follow the base transport header, in the order in which they do.
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

// Bytes of each, in the order of Extension.
inline constexpr std::array<uint8_t, kExtensionCount> kExtensionSizes = {4,  8, 4, 4, 16,
                                                                         28, 4, 8, 4, 4};

// How long the payload may be.
enum class PayloadRule : uint8_t {
  kNone,
  kPathMtu,     // first and middle packets are full
  kSome,        // a last packet has at least one byte, or it would not be there
  kAny,         // from nothing to the path MTU
  kEightBytes,  // ATOMIC WRITE
  kReserved16,  // the congestion notification's reserved bytes
};

// What an opcode means. The code asks these properties and never compares opcodes. The rows live
// in one table and are never copied; hold them by pointer or reference.
struct OpcodeInfo {
  Opcode opcode{};
  Service service{};
  Operation operation{};
  Position position{};
  Companion companion{};
  PayloadRule payload{};
  bool is_request = false;
  bool is_response = false;
  uint8_t header_size = 0;  // the base transport header and all extensions, in bytes
  uint16_t extensions = 0;  // bit n: the n-th Extension
  // Where each extension starts, from the start of the base transport header; 0 if it is not there.
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

// Indexed by the opcode byte; a row without a name means nothing.
extern const std::array<OpcodeInfo, 256> kOpcodeTable;

// The table the other way round, indexed by Describe.
extern const std::array<uint8_t, 6 << 8> kOpcodeOf;

// A description as one number.
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
