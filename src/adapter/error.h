#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "memory/memory_error.h"

namespace verbena::adapter {

// Why a call failed, as coarse as the error numbers of the verbs, which the layer above makes of
// it.
enum class ErrorCode : uint8_t {
  kInvalid,       // EINVAL: an argument, or not in this state
  kLimit,         // ENOMEM: a table or queue is full
  kInUse,         // EBUSY: something still depends on it
  kNotPermitted,  // EPERM
  kNotSupported,  // EOPNOTSUPP
  kSystem,        // the operating system refused: os_error, and the text says what
  kForked,        // this process is a child of the one that opened the adapter
};

const char* NameOf(ErrorCode code);

// The code, and what to tell a person.
struct Error {
  ErrorCode code;
  std::string text;
  int os_error = 0;  // the errno of the system, where it says more than the code
};

template <class T>
using ErrorOr = Result<T, Error>;

[[nodiscard]] Error ErrorOf(memory::MemoryError error);

// "what: reason of the system", for the errno that the last system call left.
[[nodiscard]] Error SystemError(std::string_view what);

// "the limit of 16384 queue pairs is reached (Options::qps_max)"
[[nodiscard]] Error LimitError(uint64_t limit, const char* of_what, const char* option);

}  // namespace verbena::adapter
