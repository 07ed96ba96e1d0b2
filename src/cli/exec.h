#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/commands.h"

namespace verbena::cli {

// Where this program lies; `called`, as it was called, if the system does not say.
[[nodiscard]] std::filesystem::path ThisProgram(const char* called);

// Becomes another program, which is looked for as a shell does; comes back only if that fails,
// with the exit code of a shell. `advice` says what to do where there is no such program.
[[nodiscard]] Outcome Exec(std::vector<std::string> command, const std::string& advice);

}  // namespace verbena::cli
