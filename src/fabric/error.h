#pragma once

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

namespace verbena::fabric {

// Why a call was refused: an errno for programs, words for people. A value type.
struct FabricError {
  int code = 0;
  std::string words;
};

// "what: reason of the system", for the errno that the last system call left.
[[nodiscard]] inline FabricError SystemError(std::string_view what) {
  const int code = errno;
  return {.code = code, .words = std::string(what) + ": " + std::strerror(code)};
}

}  // namespace verbena::fabric
