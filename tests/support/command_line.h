#pragma once

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "cli/command_line.h"
#include "cli/commands.h"

namespace verbena::cli {

// The result of a command line, and what it wrote to standard output.
struct CommandRun {
  bool parsed = false;
  Outcome outcome = {};
  std::string output = {};
};

using AddCommand = std::function<void(Command, Outcome&)>;

inline CommandRun RunCommand(const AddCommand& add, const std::string& words) {
  CommandLine line("test", "");
  CommandRun run;
  add(line.root(), run.outcome);
  testing::internal::CaptureStdout();
  run.parsed = line.Run(words);
  run.output = testing::internal::GetCapturedStdout();
  return run;
}

}  // namespace verbena::cli
