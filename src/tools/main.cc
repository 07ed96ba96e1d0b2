// verbena: what is there, whether it works, how fast, programs on it, and the simulator.

#include <cstdio>
#include <cstdlib>

#include "tools/become.h"
#include "tools/command_line.h"
#include "tools/commands.h"
#include "tools/interrupt.h"
#include "tools/standard_files.h"

namespace verbena::tools {
namespace {

int Main(int argc, char** argv) {
  CommandLine line("verbena", "Verbena, a software RDMA channel adapter in user space.");
  line.SetVersion("verbena " VERBENA_VERSION);
  Command root = line.root();
  root.SetExamples("verbena COMMAND --help tells more, with examples.");
  Outcome outcome;
  const auto program = ThisProgram(argv[0]);
  AddRunCommand(root, program, outcome);
  AddDevicesCommand(root, outcome);
  AddPingCommand(root, outcome);
  AddBenchCommand(root, outcome);
  AddSimCommand(root, program.parent_path() / "verbena-sim", outcome);
  CatchInterrupts();
  if (const auto exit_code = line.Run(argc, argv)) return *exit_code;
  if (outcome) return EXIT_SUCCESS;
  std::fprintf(stderr, "verbena: %s\n", outcome.error().text.c_str());
  return outcome.error().exit_code;
}

}  // namespace
}  // namespace verbena::tools

int main(int argc, char** argv) {
  verbena::tools::OpenStandardFiles();
  const int exit_code = verbena::tools::Main(argc, argv);
  const bool is_written = verbena::tools::FlushOutput();
  return exit_code == EXIT_SUCCESS && !is_written ? EXIT_FAILURE : exit_code;
}
