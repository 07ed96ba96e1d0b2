#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace verbena {

// The variables of the environment that are ours: VERBENA_TRACE and others, as docs/running.md
// lists them. A program that runs with more rights than its user has none of them.

// Empty if it is not set.
[[nodiscard]] std::string_view Variable(const char* name);

// The file that VERBENA_TRACE names. A program and its children may each have one: %p stands for
// the number of the process.
[[nodiscard]] std::string TraceVariable();

// Those that are set and begin with VERBENA_, and that nothing reads: a typing error, most likely.
[[nodiscard]] std::vector<std::string> UnknownVariables();

}  // namespace verbena
