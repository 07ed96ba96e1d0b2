#pragma once

#include <cstdint>

#include "queue/wqe.h"

// Short constructors of work requests. All requests are signaled.

namespace verbena::scenario {

inline queue::SendWqe RequestOf(uint64_t id, queue::SendOpcode opcode,
                                const queue::SendOperand& operand = {}) {
  queue::SendWqe wqe;
  wqe.id = WrId(id);
  wqe.opcode = opcode;
  wqe.flags.signaled = true;
  wqe.operand = operand;
  return wqe;
}

inline queue::SendWqe SendOf(uint64_t id) { return RequestOf(id, queue::SendOpcode::kSend); }
inline queue::SendWqe WriteOf(uint64_t id, const RemoteAddress& to) {
  return RequestOf(id, queue::SendOpcode::kWrite, to);
}
inline queue::SendWqe ReadOf(uint64_t id, const RemoteAddress& from) {
  return RequestOf(id, queue::SendOpcode::kRead, from);
}
inline queue::SendWqe FetchAddOf(uint64_t id, const RemoteAddress& word, uint64_t addend) {
  return RequestOf(id, queue::SendOpcode::kFetchAndAdd,
                   queue::Atomic{.remote = word, .compare_or_add = addend});
}
inline queue::SendWqe CompareSwapOf(uint64_t id, const RemoteAddress& word, uint64_t compare,
                                    uint64_t swap) {
  return RequestOf(id, queue::SendOpcode::kCompareAndSwap,
                   queue::Atomic{.remote = word, .compare_or_add = compare, .swap = swap});
}
inline queue::SendWqe SendInvalidateOf(uint64_t id, Key key) {
  queue::SendWqe wqe = RequestOf(id, queue::SendOpcode::kSendWithInvalidate);
  wqe.invalidate = key;
  return wqe;
}
inline queue::SendWqe LocalInvalidateOf(uint64_t id, Key key) {
  queue::SendWqe wqe = RequestOf(id, queue::SendOpcode::kLocalInvalidate);
  wqe.invalidate = key;
  return wqe;
}

}  // namespace verbena::scenario
