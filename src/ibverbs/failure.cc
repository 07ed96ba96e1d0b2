#include "ibverbs/failure.h"

#include <cstring>
#include <string>

#include "ibverbs/log.h"

namespace verbena::ibverbs {

int ErrnoOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return EINVAL;
    case ErrorCode::kLimit:
      return ENOMEM;
    case ErrorCode::kInUse:
      return EBUSY;
    case ErrorCode::kNotPermitted:
      return EPERM;
    case ErrorCode::kNotSupported:
      return EOPNOTSUPP;
    case ErrorCode::kSystem:
      return EIO;
    case ErrorCode::kForked:
      return EPERM;
    case ErrorCode::kOverflow:
      return EOVERFLOW;
  }
  return EIO;
}

int ErrnoOf(const Error& error) {
  const bool has_own = error.code == ErrorCode::kSystem && error.os_error != 0;
  return has_own ? error.os_error : ErrnoOf(error.code);
}

Error SystemError(std::string_view what) {
  const int os_error = errno;
  return {ErrorCode::kSystem, std::string(what) + ": " + std::strerror(os_error), os_error};
}

int Failed(std::string_view call, const Error& error) {
  // The program is told a number only. A limit can be raised by its user, who should know.
  const bool limit = error.code == ErrorCode::kLimit || error.code == ErrorCode::kSystem;
  Log(limit ? LogLevel::kWarning : LogLevel::kDebug, std::string(call) + ": " + error.text);
  errno = ErrnoOf(error);
  return errno;
}

std::nullptr_t Null(std::string_view call, const Error& error) {
  errno = Failed(call, error);
  return nullptr;
}

int Unsupported(std::string_view call) {
  LogOnce(std::string(call) + " is not offered");
  errno = EOPNOTSUPP;
  return EOPNOTSUPP;
}

std::nullptr_t UnsupportedNull(std::string_view call) {
  errno = Unsupported(call);
  return nullptr;
}

}  // namespace verbena::ibverbs
