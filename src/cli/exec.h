#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/commands.h"

namespace verbena::cli {

// The path of this program; `called`, the name by which it was called, if the system does not say.
[[nodiscard]] std::filesystem::path ThisProgram(const char* called);

// Replaces this process by another program, which is searched for in PATH. Returns only on failure,
// with the exit code of a shell. `advice` says what to do if there is no such program.
[[nodiscard]] Outcome Exec(std::vector<std::string> command, const std::string& advice);

}  // namespace verbena::cli
