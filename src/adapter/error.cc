#include "adapter/error.h"

#include "base/check.h"

namespace verbena::adapter {
namespace {

using memory::MemoryError;

ErrorCode CodeOf(MemoryError error) {
  switch (error) {
    case MemoryError::kLimitReached:
    case MemoryError::kTooLarge:
      return ErrorCode::kLimit;
    case MemoryError::kInUse:
      return ErrorCode::kInUse;
    case MemoryError::kNotAuthorized:
    case MemoryError::kNotPrivileged:
    case MemoryError::kOwnedByTheSystem:
      return ErrorCode::kNotPermitted;
    case MemoryError::kNoSuchConsumer:
    case MemoryError::kNoSuchDomain:
    case MemoryError::kNoSuchGuest:
    case MemoryError::kNoSuchKey:
    case MemoryError::kWrongType:
    case MemoryError::kWrongState:
    case MemoryError::kWraps:
    case MemoryError::kOutOfRange:
    case MemoryError::kMisaligned:
    case MemoryError::kBadPageList:
    case MemoryError::kRightsTooWide:
    case MemoryError::kOverlap:
    case MemoryError::kNotMapped:
      return ErrorCode::kInvalid;
  }
  UNREACHABLE();
}

}  // namespace

Error ErrorOf(MemoryError error) { return {CodeOf(error), NameOf(error)}; }

}  // namespace verbena::adapter
