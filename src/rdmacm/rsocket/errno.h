#pragma once

#include <cerrno>

#include "base/result.h"

namespace verbena::rsockets {

// Why a call failed, as programs hear of it: the number for errno. A value type.
struct Errno {
  int number = 0;

  friend bool operator==(const Errno&, const Errno&) = default;
};

// The number that the last system call or verb left.
[[nodiscard]] inline Errno LastErrno() { return {errno}; }

template <class T>
using ErrnoOr = Result<T, Errno>;

}  // namespace verbena::rsockets
