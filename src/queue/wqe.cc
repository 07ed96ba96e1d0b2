#include "queue/wqe.h"

namespace verbena::queue {

const char* NameOf(SendOpcode opcode) {
  switch (opcode) {
    case SendOpcode::kSend:
      return "send";
    case SendOpcode::kSendWithImmediate:
      return "send with immediate";
    case SendOpcode::kSendWithInvalidate:
      return "send with invalidate";
    case SendOpcode::kWrite:
      return "write";
    case SendOpcode::kWriteWithImmediate:
      return "write with immediate";
    case SendOpcode::kRead:
      return "read";
    case SendOpcode::kCompareAndSwap:
      return "compare and swap";
    case SendOpcode::kFetchAndAdd:
      return "fetch and add";
    case SendOpcode::kAtomicWrite:
      return "atomic write";
    case SendOpcode::kFlush:
      return "flush";
    case SendOpcode::kBindWindow:
      return "bind window";
    case SendOpcode::kLocalInvalidate:
      return "local invalidate";
    case SendOpcode::kRegister:
      return "register";
    case SendOpcode::kRegisterAndSend:
      return "register and send";
    case SendOpcode::kDelay:
      return "delay";
  }
  return "?";
}

}  // namespace verbena::queue
