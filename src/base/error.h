#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "verbena/error.h"

namespace verbena {

// "what: reason of the system", for the errno that the last system call left.
[[nodiscard]] Error SystemError(std::string_view what);
// The text as it is, with the errno that says the same to programs.
[[nodiscard]] Error SystemError(int os_error, std::string text);

// EINVAL: "tag matching needs a queue pair of type RC".
[[nodiscard]] Error InvalidError(std::string text);

// "the limit of 16384 queue pairs is reached (Options::qps_max)"
[[nodiscard]] Error LimitError(uint64_t limit, const char* of_what, const char* option);

}  // namespace verbena
