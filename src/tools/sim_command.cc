#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>

#include "tools/commands.h"

namespace verbena::tools {
namespace {

constexpr const char* kSimulator = "verbena-sim";

// Becomes the simulator; comes back only if that fails.
Outcome Become(const std::filesystem::path& simulator, std::vector<std::string> arguments) {
  std::vector<char*> pointers;
  std::string name = simulator.string();
  pointers.push_back(name.data());
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv(name.c_str(), pointers.data());
  return tl::unexpected(Error{.code = ErrorCode::kSystem,
                              .text = "cannot start " + name + ": " + std::strerror(errno) +
                                      "; it is built with the tests, by make build"});
}

}  // namespace

std::filesystem::path SimulatorBeside(const char* program) {
  std::error_code failed;
  auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) self = program;
  return self.replace_filename(kSimulator);
}

void AddSimCommand(CLI::App& app, const std::filesystem::path& simulator, Outcome& outcome) {
  CLI::App* const command = app.add_subcommand(
      "sim", "adapters on a bad network and bad memory, in virtual time; --help tells more");
  command->prefix_command();
  command->set_help_flag();
  command->callback(
      [command, simulator, &outcome] { outcome = Become(simulator, command->remaining()); });
}

}  // namespace verbena::tools
