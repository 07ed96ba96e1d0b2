#pragma once

#include <cstdint>
#include <string>

#include <tl/expected.hpp>

namespace verbena {

// Why a call failed, as coarse as the error numbers of the verbs.
enum class ErrorCode : uint8_t {
  kInvalid,       // EINVAL: an argument, or not in this state
  kLimit,         // ENOMEM: a table or queue is full, or memory ran out
  kInUse,         // EBUSY: something still depends on it
  kNotPermitted,  // EPERM
  kNotSupported,  // EOPNOTSUPP
  kSystem,        // the operating system refused: Error::os_error, and the text says what
  kForked,        // this process is a child of the one that opened the device
  kOverflow,      // a completion queue lost a completion, and is of no further use
};

const char* NameOf(ErrorCode code);  // "in use"

// The code, and what to tell a person.
struct Error {
  ErrorCode code = ErrorCode::kInvalid;
  std::string text = {};
  int os_error = 0;  // the errno of the system, where it says more than the code
};

// What a call of the control path returns. On failure nothing has changed. No such call throws.
template <class T>
using ErrorOr = tl::expected<T, Error>;

// What a call of the data path returns: no words, so nothing is allocated.
template <class T>
using CodeOr = tl::expected<T, ErrorCode>;

}  // namespace verbena
