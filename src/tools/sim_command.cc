#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "tools/become.h"
#include "tools/commands.h"

namespace verbena::tools {

void AddSimCommand(CLI::App& app, const std::filesystem::path& simulator, Outcome& outcome) {
  CLI::App* const command = app.add_subcommand(
      "sim", "adapters on a bad network and bad memory, in virtual time; --help tells more");
  command->prefix_command();
  command->set_help_flag();
  command->callback([command, simulator, &outcome] {
    std::vector<std::string> words{simulator};
    for (std::string& argument : command->remaining()) words.push_back(std::move(argument));
    outcome = Become(std::move(words), "it is built with the tests, by make build");
  });
}

}  // namespace verbena::tools
