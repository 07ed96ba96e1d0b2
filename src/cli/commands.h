#pragma once

#include <filesystem>

#include "cli/command_line.h"
#include "cli/outcome.h"

namespace verbena::cli {

// Each function adds a subcommand with its options, examples and work to the command line. The
// result of the work goes to `outcome`, which must live as long as the command line.
void AddDevicesCommand(Command root, Outcome& outcome);
void AddCacheCommand(Command root, Outcome& outcome);
void AddPingCommand(Command root, Outcome& outcome);
void AddBenchCommand(Command root, Outcome& outcome);
// `program` is the path of this program; the library is found relative to it.
void AddRunCommand(Command root, const std::filesystem::path& program, Outcome& outcome);
void AddBrokerCommand(Command root, Outcome& outcome);
void AddSimCommand(Command root, const std::filesystem::path& simulator, Outcome& outcome);

}  // namespace verbena::cli
