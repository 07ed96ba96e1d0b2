#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/time.h"
#include "queue/ids.h"
#include "queue/wqe.h"

namespace verbena::queue {

// How a work request ended. The values are those of the verbs (IBV_WC_*), because programs see
// them.
enum class CompletionStatus : uint8_t {
  kSuccess = 0,
  kLocalLengthError,
  kLocalQpOperationError,
  kLocalEecOperationError,
  kLocalProtectionError,
  kFlushed,
  kWindowBindError,
  kBadResponse,
  kLocalAccessError,
  kRemoteInvalidRequest,
  kRemoteAccessError,
  kRemoteOperationError,
  kRetryExceeded,
  kRnrRetryExceeded,
  kLocalRddViolation,
  kRemoteInvalidRdRequest,
  kRemoteAborted,
  kInvalidEecn,
  kInvalidEecState,
  kFatalError,
  kResponseTimeout,
  kGeneralError,
  kTagMatchingError,
  kTagMatchingIncomplete,
};
inline constexpr size_t kCompletionStatusCount =
    static_cast<size_t>(CompletionStatus::kTagMatchingIncomplete) + 1;

const char* NameOf(CompletionStatus status);

// What completed. The values are those of the verbs as far as they go; bit 7 marks the receive
// side. The verbs have no names for the two at 0x40, which are ours.
enum class CompletionOpcode : uint8_t {
  kSend = 0,
  kWrite = 1,
  kRead = 2,
  kCompareAndSwap = 3,
  kFetchAndAdd = 4,
  kBindWindow = 5,
  kLocalInvalidate = 6,
  kFlush = 8,
  kAtomicWrite = 9,
  kRegister = 0x40,
  kDelay = 0x41,
  kReceive = 0x80,
  kReceiveWithImmediate = 0x81,  // of a write
  kTagAdd = 0x82,
  kTagRemove = 0x83,
  kTagSynchronize = 0x84,
  kTagReceive = 0x85,    // a message with a tag, expected or not
  kNoTagReceive = 0x86,  // one without, to a tag matching queue
};

const char* NameOf(CompletionOpcode opcode);

// As which a send-queue element completes.
CompletionOpcode CompletionOpcodeOf(SendOpcode opcode);

constexpr bool IsReceive(CompletionOpcode opcode) {
  return (static_cast<uint8_t>(opcode) & 0x80) != 0;
}

struct CompletionFlags {
  bool has_grh : 1 = false;
  bool with_immediate : 1 = false;
  bool with_invalidate : 1 = false;
  bool tag_wants_step : 1 = false;  // the program should say how many unexpected messages it saw
  bool tag_matched : 1 = false;
  bool tag_data_valid : 1 = false;

  friend bool operator==(const CompletionFlags&, const CompletionFlags&) = default;
};

// An entry of a completion queue: what ibv_wc and the read functions of an extended queue tell. If
// the status is not success only id, status, qp and vendor_error count (IBA 11.4.2.1).
struct Completion {
  WrId id{};
  Time timestamp{};  // when it entered the queue, which sets it
  uint64_t tag = 0;  // tag_matched
  QpNumber qp{};
  QpNumber source_qp{};
  uint32_t byte_count = 0;
  Immediate immediate{};  // with_immediate
  Key invalidated{};      // with_invalidate
  uint32_t vendor_error = 0;
  uint32_t tag_context = 0;  // likewise
  uint16_t p_key_index = 0;
  uint16_t slid = 0;
  uint8_t sl = 0;  // has_grh: of which kind that header is
  uint8_t path_bits = 0;
  CompletionStatus status = CompletionStatus::kSuccess;
  CompletionOpcode opcode = CompletionOpcode::kSend;
  CompletionFlags flags{};

  friend bool operator==(const Completion&, const Completion&) = default;
};
// One cache line: written by one core, read by another.
static_assert(sizeof(Completion) <= 64);
static_assert(std::is_trivially_copyable_v<Completion>);

}  // namespace verbena::queue
