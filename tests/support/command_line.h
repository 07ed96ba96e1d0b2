#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include "tools/commands.h"

namespace verbena::tools {

// What a command line came to, and what it wrote to standard output.
struct CommandRun {
  bool parsed = false;
  Outcome outcome = {};
  std::string output = {};
};

using AddCommand = std::function<void(CLI::App&, Outcome&)>;

// CLI11 tells of wrong command lines by exceptions.
inline CommandRun RunCommand(const AddCommand& add, const std::string& line) {
  CLI::App app;
  CommandRun run;
  add(app, run.outcome);
  testing::internal::CaptureStdout();
  try {
    app.parse(line);
    run.parsed = true;
  } catch (const CLI::ParseError&) {
    run.parsed = false;
  }
  run.output = testing::internal::GetCapturedStdout();
  return run;
}

}  // namespace verbena::tools
