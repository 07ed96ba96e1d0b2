#include "base/error.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/check.h"

namespace verbena {

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
    case ErrorCode::kOverflow:
      return "overflow";
  }
  UNREACHABLE();
}

Error InvalidError(std::string text) { return {ErrorCode::kInvalid, std::move(text)}; }

Error SystemError(std::string_view what) {
  const int os_error = errno;
  return {ErrorCode::kSystem, std::string(what) + ": " + std::strerror(os_error), os_error};
}

Error SystemError(int os_error, std::string text) {
  return {ErrorCode::kSystem, std::move(text), os_error};
}

Error LimitError(uint64_t limit, const char* of_what, const char* option) {
  return {ErrorCode::kLimit, "the limit of " + std::to_string(limit) + " " + of_what +
                                 " is reached (Options::" + option + ")"};
}

}  // namespace verbena
