#include "ibverbs/failure.h"

#include <cstring>
#include <new>
#include <string>
#include <system_error>

#include "base/log.h"

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
  return error.os_error != 0 ? error.os_error : ErrnoOf(error.code);
}

int Failed(std::string_view call, const Error& error) noexcept {
  // The program only gets a number. A limit is a warning, because the user can raise it. Unmapped
  // memory is not, because some programs register memory to find out whether it is mapped.
  const bool limit = error.code == ErrorCode::kLimit ||
                     (error.code == ErrorCode::kSystem && error.os_error != EFAULT);
  Log(limit ? LogLevel::kWarning : LogLevel::kDebug, call, error.text);
  errno = ErrnoOf(error);
  return errno;
}

// Always for debugging: a program that fills its queue on purpose posts again after it has polled.
int Posted(std::string_view call, const PostResult& result) noexcept {
  if (result) return 0;
  Log(LogLevel::kDebug, call, NameOf(result.error().reason));
  return ErrnoOf(result.error().code());
}

std::nullptr_t Null(std::string_view call, const Error& error) noexcept {
  errno = Failed(call, error);
  return nullptr;
}

int Unsupported(std::string_view call) noexcept {
  LogOnce(call, "not offered");
  errno = EOPNOTSUPP;
  return EOPNOTSUPP;
}

int UnsupportedFd(std::string_view call) noexcept { return MinusOne(Unsupported(call)); }

std::nullptr_t UnsupportedNull(std::string_view call) noexcept {
  errno = Unsupported(call);
  return nullptr;
}

// Any other exception is a bug of Verbena, and ends the process here.
int Thrown(std::string_view call) noexcept {
  int error = ENOMEM;
  try {
    throw;
  } catch (const std::bad_alloc&) {
    Log(LogLevel::kWarning, call, "out of memory");
  } catch (const std::system_error& refused) {
    Log(LogLevel::kWarning, call, "the system starts no more threads");
    error = refused.code().value();
  }
  errno = error;
  return error;
}

std::nullptr_t ThrownNull(std::string_view call) noexcept {
  errno = Thrown(call);
  return nullptr;
}

}  // namespace verbena::ibverbs
