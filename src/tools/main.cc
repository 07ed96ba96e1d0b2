// verbena: what is there, whether it works, how fast, programs on it, and the simulator.

#include <cstdio>
#include <cstdlib>

#include "tools/become.h"
#include "tools/command_line.h"
#include "tools/commands.h"
#include "tools/interrupt.h"

int main(int argc, char** argv) {
  verbena::tools::CommandLine line("verbena",
                                   "Verbena, a software RDMA channel adapter in user space.");
  verbena::tools::Command root = line.root();
  root.SetExamples("verbena COMMAND --help tells more, with examples.");
  verbena::tools::Outcome outcome;
  verbena::tools::AddDevicesCommand(root, outcome);
  verbena::tools::AddPingCommand(root, outcome);
  verbena::tools::AddBenchCommand(root, outcome);
  const auto program = verbena::tools::ThisProgram(argv[0]);
  verbena::tools::AddRunCommand(root, program, outcome);
  verbena::tools::AddSimCommand(root, program.parent_path() / "verbena-sim", outcome);
  verbena::tools::CatchInterrupts();
  if (const auto exit_code = line.Run(argc, argv)) return *exit_code;
  if (outcome) return EXIT_SUCCESS;
  std::fprintf(stderr, "verbena: %s\n", outcome.error().text.c_str());
  return EXIT_FAILURE;
}
