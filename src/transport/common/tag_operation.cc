#include "transport/common/tag_operation.h"

#include "base/check.h"
#include "transport/common/complete.h"

namespace verbena::transport {
namespace {

CompletionOpcode OpcodeOf(TagOperation::Kind kind) {
  switch (kind) {
    case TagOperation::Kind::kAdd:
      return CompletionOpcode::kTagAdd;
    case TagOperation::Kind::kRemove:
      return CompletionOpcode::kTagRemove;
    case TagOperation::Kind::kSynchronize:
      return CompletionOpcode::kTagSynchronize;
  }
  UNREACHABLE();
}

}  // namespace

Result<TagHandle, queue::TagMatcher::AddError> Execute(const TagOperation& operation,
                                                       queue::TagMatcher& tags,
                                                       queue::CompletionQueue& cq, Step& step) {
  Completion completion;
  completion.id = operation.id;
  completion.opcode = OpcodeOf(operation.kind);
  if (operation.seen) tags.Synchronize(*operation.seen);
  TagHandle handle{};
  if (operation.kind == TagOperation::Kind::kAdd) {
    const auto added = tags.Add({.id = operation.receive_id,
                                 .tag = operation.tag,
                                 .mask = operation.mask,
                                 .sges = operation.data});
    if (!added) return Fail(added.error());
    handle = *added;
  } else if (operation.kind == TagOperation::Kind::kRemove && !tags.Remove(operation.handle)) {
    completion.status = CompletionStatus::kTagMatchingError;
  }
  completion.tag_wants_step = !tags.is_in_step();
  const bool failed = completion.status != CompletionStatus::kSuccess;
  if (operation.signaled || failed) Complete(completion, false, cq, step);
  return handle;
}

}  // namespace verbena::transport
