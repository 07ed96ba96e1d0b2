// verbena: lists devices, pings, measures, runs programs on Verbena, divides memory among guests,
// and runs the simulator.

#include <cstdio>
#include <cstdlib>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/exec.h"
#include "cli/interrupt.h"
#include "cli/standard_files.h"

namespace verbena::cli {
namespace {

int Main(int argc, char** argv) {
  CommandLine line("verbena", "Verbena, a software RDMA channel adapter in user space.");
  line.SetVersion("verbena " VERBENA_VERSION);
  Command root = line.root();
  root.SetExamples(
      "verbena COMMAND --help prints the options of a command, with examples; so does "
      "man\nverbena-COMMAND.");
  Outcome outcome;
  const auto program = ThisProgram(argv[0]);
  AddRunCommand(root, program, outcome);
  AddDevicesCommand(root, outcome);
  AddCacheCommand(root, outcome);
  AddPingCommand(root, outcome);
  AddBenchCommand(root, outcome);
  AddBrokerCommand(root, outcome);
  AddSimCommand(root, program.parent_path() / "verbena-sim", outcome);
  CatchInterrupts();
  if (const auto exit_code = line.Run(argc, argv)) return *exit_code;
  if (outcome) return EXIT_SUCCESS;
  std::fprintf(stderr, "verbena: %s\n", outcome.error().text.c_str());
  return outcome.error().exit_code;
}

}  // namespace
}  // namespace verbena::cli

int main(int argc, char** argv) {
  verbena::cli::OpenStandardFiles();
  const int exit_code = verbena::cli::Main(argc, argv);
  const bool is_written = verbena::cli::FlushOutput();
  return exit_code == EXIT_SUCCESS && !is_written ? EXIT_FAILURE : exit_code;
}
