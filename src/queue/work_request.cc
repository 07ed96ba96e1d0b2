#include "queue/work_request.h"

namespace verbena::queue {

const char* NameOf(PostError error) {
  switch (error) {
    case PostError::kFull:
      return "the queue is full";
    case PostError::kTooManySges:
      return "too many scatter/gather elements";
    case PostError::kInlineNotAllowed:
      return "the opcode has no data to inline";
    case PostError::kInlineTooLong:
      return "the inline data is too long";
    case PostError::kBadOpcode:
      return "no such opcode";
    case PostError::kBadOperand:
      return "the opcode needs another operand";
    case PostError::kTooManyPages:
      return "too many pages";
  }
  return "?";
}

}  // namespace verbena::queue
