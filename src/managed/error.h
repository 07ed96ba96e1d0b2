#pragma once

#include <cerrno>
#include <cstring>
#include <string>

#include "base/result.h"

namespace verbena::managed {

// What the system refused while managed memory was set up: its number, and what to tell a person.
struct Error {
  int number;
  std::string text;
};

template <class T>
using ErrorOr = Result<T, Error>;

// "memfd_create: Cannot allocate memory", by errno.
[[nodiscard]] inline Error SystemError(const std::string& what) {
  return {.number = errno, .text = what + ": " + std::strerror(errno)};
}

}  // namespace verbena::managed
