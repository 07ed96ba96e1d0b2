#pragma once

#include <filesystem>

#include "verbena/error.h"

namespace CLI {  // NOLINT(readability-identifier-naming): not ours
class App;
}

namespace verbena::tools {

// What a subcommand came to, for whoever called it. A subcommand writes its results itself.
using Outcome = ErrorOr<void>;

// Each adds a subcommand with its options, examples and work to the command line. The work's result
// goes to `outcome`, which must live as long as the command line.
void AddDevicesCommand(CLI::App& app, Outcome& outcome);
void AddPingCommand(CLI::App& app, Outcome& outcome);
void AddBenchCommand(CLI::App& app, Outcome& outcome);
// `program` is this one, from where the library is found.
void AddRunCommand(CLI::App& app, const std::filesystem::path& program, Outcome& outcome);
void AddSimCommand(CLI::App& app, const std::filesystem::path& simulator, Outcome& outcome);

}  // namespace verbena::tools
