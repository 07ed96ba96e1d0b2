#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tools/commands.h"

namespace verbena::tools {

// Where this program lies; `called`, as it was called, if the system does not say.
[[nodiscard]] std::filesystem::path ThisProgram(const char* called);

// Becomes another program, which is looked for as a shell does; comes back only if that fails.
// `advice` says what to do then.
[[nodiscard]] Outcome Become(std::vector<std::string> command, const std::string& advice);

}  // namespace verbena::tools
