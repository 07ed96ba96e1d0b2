#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/exec.h"

namespace verbena::cli {

void AddSimCommand(Command root, const std::filesystem::path& simulator, Outcome& outcome) {
  Command command = root.AddCommand(
      "sim", "simulate adapters with faults of network and memory, in virtual time");
  command.SetWorkWithRest([simulator, &outcome](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), simulator);
    outcome = Exec(std::move(arguments), "it is built with the tests, by make build");
  });
}

}  // namespace verbena::cli
