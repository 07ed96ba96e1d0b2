#include "verbena/post_error.h"

namespace verbena {

const char* NameOf(PostReason reason) {
  switch (reason) {
    case PostReason::kNoHandle:
      return "the handle is empty: its object was not created, or is destroyed";
    case PostReason::kForked:
      return "this process is a child of the one that opened the device";
    case PostReason::kNoSendQueue:
      return "the queue pair has no send queue: it is of type XRC receive";
    case PostReason::kNoReceiveQueue:
      return "the queue pair has no receive queue: receives are posted to the shared one";
    case PostReason::kSendsNeedRts:
      return "sends are posted in state RTS or later";
    case PostReason::kReceivesNeedInit:
      return "receives are posted in state INIT or later";
    case PostReason::kQueueFull:
      return "the queue is full";
    case PostReason::kTooManySges:
      return "data: more elements than sges_max of the queue";
    case PostReason::kInlineNotAllowed:
      return "flags.inlined: the request carries no data to the peer";
    case PostReason::kInlineTooLong:
      return "data: more bytes than inline_max of the queue";
    case PostReason::kTooManyPages:
      return "registration.pages: more pages than pages_max of the queue";
    case PostReason::kInvalidateWithImmediate:
      return "invalidate: a send has an immediate or a key to invalidate, not both";
    case PostReason::kInvalidateInDatagram:
      return "invalidate: a datagram cannot invalidate a key";
    case PostReason::kNoDestination:
      return "to: a queue pair of type UD needs a destination for each send";
    case PostReason::kDestinationNotAllowed:
      return "to: only a queue pair of type UD takes a destination";
    case PostReason::kKeyOfOtherWindow:
      return "r_key: the index must be that of the window, as in NextKey(window)";
    case PostReason::kNegativeDuration:
      return "duration: must not be negative";
    case PostReason::kBadOpcode:
      return "opcode: no such work request";
    case PostReason::kBadOperand:
      return "opcode: the work request needs another operand";
  }
  return "?";
}

std::string ToString(const PostError& error) {
  const std::string name = NameOf(error.reason);
  switch (error.reason) {
    case PostReason::kSendsNeedRts:
    case PostReason::kReceivesNeedInit:
      return name + ": the queue pair is in " + NameOf(error.state);
    case PostReason::kQueueFull:
      return name + ": its capacity is " + std::to_string(error.limit);
    case PostReason::kTooManySges:
    case PostReason::kInlineTooLong:
    case PostReason::kTooManyPages:
      return name + " (" + std::to_string(error.given) + ", at most " +
             std::to_string(error.limit) + ")";
    default:  // no figures
      return name;
  }
}

}  // namespace verbena
