#pragma once

#include <filesystem>

#include "cli/command_line.h"
#include "cli/outcome.h"

namespace verbena::cli {

// Each adds a subcommand with its options, examples and work to the command line. The work's result
// goes to `outcome`, which must live as long as the command line.
void AddDevicesCommand(Command root, Outcome& outcome);
void AddPingCommand(Command root, Outcome& outcome);
void AddBenchCommand(Command root, Outcome& outcome);
// `program` is this one, from where the library is found.
void AddRunCommand(Command root, const std::filesystem::path& program, Outcome& outcome);
void AddSimCommand(Command root, const std::filesystem::path& simulator, Outcome& outcome);

}  // namespace verbena::cli
