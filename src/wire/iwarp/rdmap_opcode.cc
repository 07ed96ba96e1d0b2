#include "wire/iwarp/rdmap_opcode.h"

#include <array>

#include "wire/iwarp/rdmap_atomic.h"
#include "wire/iwarp/rdmap_immediate.h"
#include "wire/iwarp/rdmap_read_request.h"
#include "wire/text.h"

namespace verbena::wire {
namespace {

using enum RdmapOpcode;

constexpr std::array<RdmapOpcodeInfo, kRdmapOpcodeCount> kOpcodes = {{
    {.opcode = kWrite, .name = "RDMA Write", .is_tagged = true},
    {.opcode = kReadRequest,
     .name = "RDMA Read Request",
     .queue = DdpQueue::kReadRequest,
     .body = RdmapReadRequest::kSize},
    {.opcode = kReadResponse, .name = "RDMA Read Response", .is_tagged = true},
    {.opcode = kSend, .name = "Send", .queue = DdpQueue::kSend, .takes_receive = true},
    {.opcode = kSendInvalidate,
     .name = "Send with Invalidate",
     .queue = DdpQueue::kSend,
     .takes_receive = true,
     .has_invalidate = true},
    {.opcode = kSendSolicited,
     .name = "Send with Solicited Event",
     .queue = DdpQueue::kSend,
     .takes_receive = true,
     .is_solicited = true},
    {.opcode = kSendSolicitedInvalidate,
     .name = "Send with Solicited Event and Invalidate",
     .queue = DdpQueue::kSend,
     .takes_receive = true,
     .is_solicited = true,
     .has_invalidate = true},
    {.opcode = kTerminate, .name = "Terminate", .queue = DdpQueue::kTerminate},
    {.opcode = kImmediate,
     .name = "Immediate Data",
     .queue = DdpQueue::kSend,
     .takes_receive = true,
     .body = RdmapImmediate::kSize},
    {.opcode = kImmediateSolicited,
     .name = "Immediate Data with Solicited Event",
     .queue = DdpQueue::kSend,
     .takes_receive = true,
     .is_solicited = true,
     .body = RdmapImmediate::kSize},
    {.opcode = kAtomicRequest,
     .name = "Atomic Request",
     .queue = DdpQueue::kReadRequest,
     .body = RdmapAtomicRequest::kSize},
    {.opcode = kAtomicResponse,
     .name = "Atomic Response",
     .queue = DdpQueue::kAtomicResponse,
     .body = RdmapAtomicResponse::kSize},
}};

constexpr bool IsInOrder() {
  for (size_t i = 0; i < kOpcodes.size(); ++i) {
    if (static_cast<size_t>(kOpcodes[i].opcode) != i) return false;
  }
  return true;
}
static_assert(IsInOrder());

}  // namespace

const RdmapOpcodeInfo* FindRdmapOpcode(RdmapOpcode opcode) {
  const auto index = static_cast<size_t>(opcode);
  return index < kOpcodes.size() ? &kOpcodes[index] : nullptr;
}

std::string ToString(RdmapOpcode opcode) {
  const RdmapOpcodeInfo* const info = FindRdmapOpcode(opcode);
  return info != nullptr ? info->name : "opcode " + Hex(static_cast<uint8_t>(opcode), 1);
}

}  // namespace verbena::wire
