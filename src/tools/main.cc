// verbena: what is there, whether it works, how fast, programs on it, and the simulator.

#include <cstdio>
#include <cstdlib>

#include <CLI/CLI.hpp>

#include "tools/become.h"
#include "tools/commands.h"
#include "tools/interrupt.h"

int main(int argc, char** argv) {
  CLI::App app("Verbena, a software RDMA channel adapter in user space.", "verbena");
  app.require_subcommand(1);
  app.footer("verbena COMMAND --help tells more, with examples.");
  verbena::tools::Outcome outcome;
  verbena::tools::AddDevicesCommand(app, outcome);
  verbena::tools::AddPingCommand(app, outcome);
  verbena::tools::AddBenchCommand(app, outcome);
  const auto program = verbena::tools::ThisProgram(argv[0]);
  verbena::tools::AddRunCommand(app, program, outcome);
  verbena::tools::AddSimCommand(app, program.parent_path() / "verbena-sim", outcome);
  verbena::tools::CatchInterrupts();
  CLI11_PARSE(app, argc, argv);
  if (outcome) return EXIT_SUCCESS;
  std::fprintf(stderr, "verbena: %s\n", outcome.error().text.c_str());
  return EXIT_FAILURE;
}
