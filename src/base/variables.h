#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace verbena {

// The environment variables that Verbena reads: VERBENA_TRACE and others, as docs/running.md lists
// them. A setuid program and others that run with more rights than their user see none of them.

// The value of the variable, empty if it is not set.
[[nodiscard]] std::string_view Variable(const char* name);

// Whether it is 1. Warns once if it is set and neither 0 nor 1.
[[nodiscard]] bool IsOn(const char* name);

// The file that VERBENA_TRACE names, with %p replaced by the process id, so that a program and its
// children can each have a trace.
[[nodiscard]] std::string TraceVariable();

// XDG_RUNTIME_DIR: a folder of the user's own, which lasts until the user logs out.
[[nodiscard]] std::string_view RuntimeFolderVariable();

// The variables that are set and begin with VERBENA_, but that no code reads: most likely a typing
// error.
[[nodiscard]] std::vector<std::string> UnknownVariables();

// Warns once of each of these, and of a VERBENA_LOG or VERBENA_STATS with a value that it has not.
void WarnOfVariables();

}  // namespace verbena
