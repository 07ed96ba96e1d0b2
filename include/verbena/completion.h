#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "verbena/numbers.h"

namespace verbena {

// How a work request ended. The values are those of the verbs (IBV_WC_*).
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

// The operation that completed. The values are those of the verbs, if they have one; bit 7 marks
// the receive side.
enum class CompletionOpcode : uint8_t {
  kSend = 0,
  kWrite = 1,
  kRead = 2,
  kCompareSwap = 3,
  kFetchAdd = 4,
  kBind = 5,
  kInvalidate = 6,
  kFlush = 8,
  kAtomicWrite = 9,
  kRegister = 0x40,  // this and the next have no value in the verbs
  kDelay = 0x41,
  kReceive = 0x80,
  kReceiveWithImmediate = 0x81,  // of a write
  kTagAdd = 0x82,                // this and the next two: operations of a TagOperation
  kTagRemove = 0x83,
  kTagSynchronize = 0x84,
  kTagReceive = 0x85,    // a message with a tag, expected or not
  kNoTagReceive = 0x86,  // one without, to a tag matching queue
};

const char* NameOf(CompletionOpcode opcode);

[[nodiscard]] constexpr bool IsReceive(CompletionOpcode opcode) {
  return (static_cast<uint8_t>(opcode) & 0x80) != 0;
}

// The result of a work request: an entry of a completion queue. If the status is not kSuccess, only
// id, status, qp and vendor_error are valid. (IBA 11.4.2.1)
struct Completion {
  WrId id = {};
  int64_t timestamp_ns = 0;  // when it entered the queue, on the monotonic clock
  uint64_t tag = 0;          // of a message that was matched
  QpNumber qp = {};
  QpNumber source_qp = {};    // of a datagram
  uint32_t byte_count = 0;    // of a receive or a read
  Immediate immediate = {};   // with_immediate
  Key invalidated = {};       // with_invalidate
  uint32_t vendor_error = 0;  // 'a' to 'g': the check that refused; see RefusalCounters
  uint32_t tag_context = 0;   // as `tag`
  uint16_t p_key_index = 0;
  uint16_t slid = 0;
  uint8_t sl = 0;  // has_grh: 10 if the header is of IPv4, 9 if it is of IPv6
  uint8_t path_bits = 0;
  CompletionStatus status = CompletionStatus::kSuccess;
  CompletionOpcode opcode = CompletionOpcode::kSend;
  bool has_grh : 1 = false;  // a datagram: 40 bytes of header stand in front of its data
  bool with_immediate : 1 = false;
  bool with_invalidate : 1 = false;
  bool tag_wants_step : 1 =
      false;                     // say how many unexpected messages were seen: TagOperation::seen
  bool tag_matched : 1 = false;  // the message took a tagged receive
  bool tag_data_valid : 1 = false;  // whose buffers hold its data

  [[nodiscard]] bool ok() const { return status == CompletionStatus::kSuccess; }

  friend bool operator==(const Completion&, const Completion&) = default;
};
// One cache line: written by one core, read by another.
static_assert(sizeof(Completion) <= 64);
static_assert(std::is_trivially_copyable_v<Completion>);

}  // namespace verbena
