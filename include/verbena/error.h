#pragma once

#include <cstdint>
#include <string>

#include <tl/expected.hpp>

namespace verbena {

// Why a call failed, in the categories of the error numbers of the verbs.
enum class ErrorCode : uint8_t {
  kInvalid,       // EINVAL: a bad argument, or a call that the state does not allow
  kLimit,         // ENOMEM: a table or queue is full, or memory ran out
  kInUse,         // EBUSY: something still depends on it
  kNotPermitted,  // EPERM
  kNotSupported,  // EOPNOTSUPP
  kSystem,        // the operating system refused: see Error::os_error and Error::text
  kForked,        // this process is a child of the one that opened the device
  kOverflow,      // a completion queue lost a completion and cannot be used any more
};

const char* NameOf(ErrorCode code);  // "in use"

// The code, and a message for the user.
struct Error {
  ErrorCode code = ErrorCode::kInvalid;
  std::string text = {};
  int os_error = 0;  // errno, if it says more than the code; else 0
};

// The result of a control path call. A call that fails has changed nothing, and none throws.
template <class T>
using ErrorOr = tl::expected<T, Error>;

// The result of a data path call: it has no message, so that nothing is allocated.
template <class T>
using CodeOr = tl::expected<T, ErrorCode>;

}  // namespace verbena
