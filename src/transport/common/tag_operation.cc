#include "transport/common/tag_operation.h"

#include "base/check.h"
#include "transport/common/complete.h"

namespace verbena::transport {
namespace {

using Kind = TagOperation::Kind;

queue::CompletionOpcode OpcodeOf(Kind kind) {
  switch (kind) {
    case Kind::kAdd:
      return queue::CompletionOpcode::kTagAdd;
    case Kind::kRemove:
      return queue::CompletionOpcode::kTagRemove;
    case Kind::kSynchronize:
      return queue::CompletionOpcode::kTagSynchronize;
  }
  UNREACHABLE();
}

}  // namespace

Result<TagHandle, queue::TagMatcher::AddError> Execute(const TagOperation& operation,
                                                       queue::TagMatcher& tags,
                                                       queue::CompletionQueue& cq, Step& step) {
  queue::Completion completion;
  completion.id = operation.id;
  completion.opcode = OpcodeOf(operation.kind);
  if (operation.seen) tags.Synchronize(*operation.seen);
  TagHandle handle{};
  if (operation.kind == Kind::kAdd) {
    const auto added = tags.Add(operation.receive);
    if (!added) return Fail(added.error());
    handle = *added;
  } else if (operation.kind == Kind::kRemove && !tags.Remove(operation.handle)) {
    completion.status = queue::CompletionStatus::kTagMatchingError;
  }
  completion.flags.tag_wants_step = !tags.is_in_step();
  const bool failed = completion.status != queue::CompletionStatus::kSuccess;
  if (operation.signaled || failed) Complete(completion, false, cq, step);
  return handle;
}

}  // namespace verbena::transport
