#include "adapter/error.h"

#include <cerrno>
#include <cstring>

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
    case MemoryError::kForeignDomain:
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

const char* NameOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return "invalid";
    case ErrorCode::kLimit:
      return "limit reached";
    case ErrorCode::kInUse:
      return "in use";
    case ErrorCode::kNotPermitted:
      return "not permitted";
    case ErrorCode::kNotSupported:
      return "not supported";
    case ErrorCode::kSystem:
      return "system";
    case ErrorCode::kForked:
      return "forked";
  }
  UNREACHABLE();
}

Error ErrorOf(MemoryError error) { return {CodeOf(error), NameOf(error)}; }

Error SystemError(std::string_view what) {
  const int os_error = errno;
  return {ErrorCode::kSystem, std::string(what) + ": " + std::strerror(os_error), os_error};
}

Error LimitError(uint64_t limit, const char* of_what, const char* option) {
  return {ErrorCode::kLimit, "the limit of " + std::to_string(limit) + " " + of_what +
                                 " is reached (Options::" + option + ")"};
}

}  // namespace verbena::adapter
