#pragma once

#include <cerrno>

#include "base/result.h"

namespace verbena::rsockets {

// An error number for errno. A value type.
struct Errno {
  int number = 0;

  friend bool operator==(const Errno&, const Errno&) = default;
};

// The errno of the last system call or verb.
[[nodiscard]] inline Errno LastErrno() { return {errno}; }

template <class T>
using ErrnoOr = Result<T, Errno>;

}  // namespace verbena::rsockets
