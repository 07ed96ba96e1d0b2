#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace verbena::wire {

// Message types of RDMAP (RFC 5040, 4.2), and those of its extensions (RFC 7306, 3).
enum class RdmapOpcode : uint8_t {
  kWrite = 0,
  kReadRequest = 1,
  kReadResponse = 2,
  kSend = 3,
  kSendInvalidate = 4,
  kSendSolicited = 5,
  kSendSolicitedInvalidate = 6,
  kTerminate = 7,
  kImmediate = 8,
  kImmediateSolicited = 9,
  kAtomicRequest = 10,
  kAtomicResponse = 11,
};
inline constexpr size_t kRdmapOpcodeCount = static_cast<size_t>(RdmapOpcode::kAtomicResponse) + 1;

// The untagged queues of RDMAP. (RFC 5040, 4.1; RFC 7306, 4)
enum class DdpQueue : uint32_t {
  kSend = 0,         // sends, and immediate data
  kReadRequest = 1,  // and atomic requests
  kTerminate = 2,
  kAtomicResponse = 3,
};
inline constexpr size_t kDdpQueueCount = static_cast<size_t>(DdpQueue::kAtomicResponse) + 1;

// A row of the table of opcodes. Code asks properties, and does not compare opcodes.
struct RdmapOpcodeInfo {
  RdmapOpcode opcode{};
  const char* name = "";
  bool is_tagged = false;
  DdpQueue queue{};             // of an untagged message
  bool takes_receive = false;   // a receive request of the peer
  bool is_solicited = false;    // requests an event
  bool has_invalidate = false;  // names an STag to invalidate
  size_t body = 0;              // bytes of a message of fixed length, which is one segment
};

// nullptr for the four numbers without a meaning.
[[nodiscard]] const RdmapOpcodeInfo* FindRdmapOpcode(RdmapOpcode opcode);

[[nodiscard]] std::string ToString(RdmapOpcode opcode);

}  // namespace verbena::wire
