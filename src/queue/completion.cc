#include "queue/completion.h"

#include "base/check.h"

namespace verbena {

const char* NameOf(CompletionStatus status) {
  switch (status) {
    case CompletionStatus::kSuccess:
      return "success";
    case CompletionStatus::kLocalLengthError:
      return "local length error";
    case CompletionStatus::kLocalQpOperationError:
      return "local QP operation error";
    case CompletionStatus::kLocalEecOperationError:
      return "local EE context operation error";
    case CompletionStatus::kLocalProtectionError:
      return "local protection error";
    case CompletionStatus::kFlushed:
      return "work request flushed";
    case CompletionStatus::kWindowBindError:
      return "memory window bind error";
    case CompletionStatus::kBadResponse:
      return "bad response";
    case CompletionStatus::kLocalAccessError:
      return "local access error";
    case CompletionStatus::kRemoteInvalidRequest:
      return "remote invalid request";
    case CompletionStatus::kRemoteAccessError:
      return "remote access error";
    case CompletionStatus::kRemoteOperationError:
      return "remote operation error";
    case CompletionStatus::kRetryExceeded:
      return "transport retries exceeded";
    case CompletionStatus::kRnrRetryExceeded:
      return "RNR retries exceeded";
    case CompletionStatus::kLocalRddViolation:
      return "local RDD violation";
    case CompletionStatus::kRemoteInvalidRdRequest:
      return "remote invalid RD request";
    case CompletionStatus::kRemoteAborted:
      return "remote aborted";
    case CompletionStatus::kInvalidEecn:
      return "invalid EE context number";
    case CompletionStatus::kInvalidEecState:
      return "invalid EE context state";
    case CompletionStatus::kFatalError:
      return "fatal error";
    case CompletionStatus::kResponseTimeout:
      return "response timeout";
    case CompletionStatus::kGeneralError:
      return "general error";
    case CompletionStatus::kTagMatchingError:
      return "tag matching error";
    case CompletionStatus::kTagMatchingIncomplete:
      return "tag matching rendezvous incomplete";
  }
  return "?";
}

const char* NameOf(CompletionOpcode opcode) {
  switch (opcode) {
    case CompletionOpcode::kSend:
      return "send";
    case CompletionOpcode::kWrite:
      return "write";
    case CompletionOpcode::kRead:
      return "read";
    case CompletionOpcode::kCompareSwap:
      return "compare and swap";
    case CompletionOpcode::kFetchAdd:
      return "fetch and add";
    case CompletionOpcode::kBind:
      return "bind window";
    case CompletionOpcode::kInvalidate:
      return "local invalidate";
    case CompletionOpcode::kFlush:
      return "flush";
    case CompletionOpcode::kAtomicWrite:
      return "atomic write";
    case CompletionOpcode::kRegister:
      return "register";
    case CompletionOpcode::kDelay:
      return "delay";
    case CompletionOpcode::kReceive:
      return "receive";
    case CompletionOpcode::kReceiveWithImmediate:
      return "receive of a write with immediate";
    case CompletionOpcode::kTagAdd:
      return "tag add";
    case CompletionOpcode::kTagRemove:
      return "tag remove";
    case CompletionOpcode::kTagSynchronize:
      return "tag synchronize";
    case CompletionOpcode::kTagReceive:
      return "tag receive";
    case CompletionOpcode::kNoTagReceive:
      return "receive without tag";
  }
  return "?";
}

namespace queue {

CompletionOpcode CompletionOpcodeOf(SendOpcode opcode) {
  switch (opcode) {
    case SendOpcode::kSend:
    case SendOpcode::kSendWithImmediate:
    case SendOpcode::kSendWithInvalidate:
    case SendOpcode::kRegisterAndSend:
      return CompletionOpcode::kSend;
    case SendOpcode::kWrite:
    case SendOpcode::kWriteWithImmediate:
      return CompletionOpcode::kWrite;
    case SendOpcode::kRead:
      return CompletionOpcode::kRead;
    case SendOpcode::kCompareAndSwap:
      return CompletionOpcode::kCompareSwap;
    case SendOpcode::kFetchAndAdd:
      return CompletionOpcode::kFetchAdd;
    case SendOpcode::kAtomicWrite:
      return CompletionOpcode::kAtomicWrite;
    case SendOpcode::kFlush:
      return CompletionOpcode::kFlush;
    case SendOpcode::kBindWindow:
      return CompletionOpcode::kBind;
    case SendOpcode::kLocalInvalidate:
      return CompletionOpcode::kInvalidate;
    case SendOpcode::kRegister:
      return CompletionOpcode::kRegister;
    case SendOpcode::kDelay:
      return CompletionOpcode::kDelay;
  }
  UNREACHABLE();
}

}  // namespace queue
}  // namespace verbena
