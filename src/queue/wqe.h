#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <variant>

#include "base/check.h"
#include "base/time.h"
#include "queue/ids.h"
#include "verbena/work_request.h"

namespace verbena::queue {

enum class SendOpcode : uint8_t {
  kSend,
  kSendWithImmediate,
  kSendWithInvalidate,
  kWrite,
  kWriteWithImmediate,
  kRead,
  kCompareAndSwap,
  kFetchAndAdd,
  kAtomicWrite,
  kFlush,
  kBindWindow,
  kLocalInvalidate,
  kRegister,
  kRegisterAndSend,
  kDelay,
};
inline constexpr size_t kSendOpcodeCount = static_cast<size_t>(SendOpcode::kDelay) + 1;

const char* NameOf(SendOpcode opcode);

// The operands of opcodes besides the scatter/gather list: the alternatives of SendOperand.

struct Atomic {
  RemoteAddress remote{};
  uint64_t compare_or_add = 0;
  uint64_t swap = 0;

  friend bool operator==(const Atomic&, const Atomic&) = default;
};

struct WindowBind {
  Key window{};
  Key region{};
  uint64_t start = 0;
  uint64_t length = 0;
  KeyVariant variant{};  // of the window's new R_Key
  Access rights{};
  bool zero_based = false;
  bool one_touch = false;
  bool by_index = false;  // only the index of its key identifies the window

  friend bool operator==(const WindowBind&, const WindowBind&) = default;
};

// The page list is posted with it and stored in the queue.
struct RegistrationOperand {
  Key key{};
  Access rights{};
  uint8_t page_shift = 0;
  bool zero_based = false;
  bool one_touch = false;
  uint64_t start = 0;
  uint64_t length = 0;
  uint64_t first_offset = 0;  // of the first byte in the first page

  friend bool operator==(const RegistrationOperand&, const RegistrationOperand&) = default;
};

// Which earlier writes must be visible, and for which part of the memory. (IBA A19)
struct FlushOperand {
  RemoteAddress remote{};
  uint32_t length = 0;
  bool global_visibility = false;
  bool persistence = false;
  FlushLevel level = FlushLevel::kRange;

  friend bool operator==(const FlushOperand&, const FlushOperand&) = default;
};

struct DelayOperand {
  Duration duration{};

  friend bool operator==(const DelayOperand&, const DelayOperand&) = default;
};

using SendOperand = std::variant<std::monostate, RemoteAddress, Atomic, Datagram, WindowBind,
                                 RegistrationOperand, FlushOperand, DelayOperand>;

// An element of a send queue, without its lists. A value type, trivially copyable.
struct SendWqe {
  WrId id{};
  SendOpcode opcode = SendOpcode::kSend;
  SendFlags flags{.signaled = false};
  // Made by the adapter: the program gets no completion from the send queue.
  bool internal = false;
  Immediate immediate{};
  Key invalidate{};        // the peer's key; ours with kLocalInvalidate
  SrqNumber remote_srq{};  // XRC
  SendOperand operand{};

  // REQUIRES: the operand is a T. The queue has checked this for the opcode's own operand.
  template <class T>
  [[nodiscard]] const T& As() const {
    const T* const value = std::get_if<T>(&operand);
    CHECK(value != nullptr);
    return *value;
  }

  friend bool operator==(const SendWqe&, const SendWqe&) = default;
};
// Copied once per post, so it must not grow unnoticed.
static_assert(sizeof(SendWqe) == 72);
static_assert(std::is_trivially_copyable_v<SendWqe>);

struct ReceiveWqe {
  WrId id{};
  bool fills = false;  // of a byte stream: see Receive

  friend bool operator==(const ReceiveWqe&, const ReceiveWqe&) = default;
};

// What an atomic operation, and an atomic write, move.
inline constexpr uint32_t kAtomicBytes = 8;

struct SendProperties {
  bool needs_response = false;  // counts against max_rd_atomic: the responder keeps a resource
  bool carries_payload = false;
  bool carries_immediate = false;
  bool touches_remote = false;
  bool is_local = false;  // nothing goes on the wire
  bool registers = false;
  bool is_word = false;   // moves exactly kAtomicBytes
  bool is_plain = false;  // none of the last three: needs no local work before it is sent
  uint8_t operands = 0;   // bit i: alternative i of SendOperand is allowed
};

namespace internal {

template <class T>
inline constexpr auto kOperandBit = static_cast<uint8_t>(1 << SendOperand(T{}).index());

inline constexpr uint8_t kNoOperand = kOperandBit<std::monostate>;
inline constexpr uint8_t kMaybeDatagram = kNoOperand | kOperandBit<Datagram>;

inline constexpr std::array<SendProperties, kSendOpcodeCount> kSendProperties = {{
    // kSend
    {.carries_payload = true, .is_plain = true, .operands = kMaybeDatagram},
    // kSendWithImmediate
    {.carries_payload = true,
     .carries_immediate = true,
     .is_plain = true,
     .operands = kMaybeDatagram},
    // kSendWithInvalidate
    {.carries_payload = true, .is_plain = true, .operands = kNoOperand},
    // kWrite
    {.carries_payload = true,
     .touches_remote = true,
     .is_plain = true,
     .operands = kOperandBit<RemoteAddress>},
    // kWriteWithImmediate
    {.carries_payload = true,
     .carries_immediate = true,
     .touches_remote = true,
     .is_plain = true,
     .operands = kOperandBit<RemoteAddress>},
    // kRead
    {.needs_response = true,
     .touches_remote = true,
     .is_plain = true,
     .operands = kOperandBit<RemoteAddress>},
    // kCompareAndSwap
    {.needs_response = true,
     .touches_remote = true,
     .is_word = true,
     .operands = kOperandBit<Atomic>},
    // kFetchAndAdd
    {.needs_response = true,
     .touches_remote = true,
     .is_word = true,
     .operands = kOperandBit<Atomic>},
    // kAtomicWrite. IBA A19: it and flush wait for a response, as a read does.
    {.needs_response = true,
     .carries_payload = true,
     .touches_remote = true,
     .is_word = true,
     .operands = kOperandBit<RemoteAddress>},
    // kFlush
    {.needs_response = true,
     .touches_remote = true,
     .is_plain = true,
     .operands = kOperandBit<FlushOperand>},
    // kBindWindow
    {.is_local = true, .operands = kOperandBit<WindowBind>},
    // kLocalInvalidate
    {.is_local = true, .operands = kNoOperand},
    // kRegister
    {.is_local = true, .registers = true, .operands = kOperandBit<RegistrationOperand>},
    // kRegisterAndSend
    {.carries_payload = true, .registers = true, .operands = kOperandBit<RegistrationOperand>},
    // kDelay
    {.is_local = true, .operands = kOperandBit<DelayOperand>},
}};

}  // namespace internal

constexpr const SendProperties& PropertiesOf(SendOpcode opcode) {
  return internal::kSendProperties[static_cast<size_t>(opcode)];
}

}  // namespace verbena::queue
