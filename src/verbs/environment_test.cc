#include "verbs/environment.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <initializer_list>
#include <string>

#include <gtest/gtest.h>

#include "verbena/context.h"

namespace verbena::verbs {
namespace {

// The standard error of a program that has these variables, opens a device and exits.
std::string OutputWith(std::initializer_list<std::array<const char*, 2>> variables) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    for (const auto& [name, value] : variables) setenv(name, value, 1);
    const bool is_open = Context::Open().has_value() && Context::Open().has_value();
    std::exit(is_open ? 0 : 1);
  }
  close(ends[1]);
  std::string output;
  std::array<char, 512> bytes{};
  for (ssize_t size = 0; (size = read(ends[0], bytes.data(), bytes.size())) > 0;) {
    output.append(bytes.data(), static_cast<size_t>(size));
  }
  close(ends[0]);
  int status = -1;
  waitpid(child, &status, 0);
  return status == 0 ? output : "failed: " + output;
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST(EnvironmentTest, PrintsNothingWithoutVariables) { EXPECT_EQ(OutputWith({}), ""); }

TEST(EnvironmentTest, CountersArePrintedOnceWhenTheProgramEnds) {
  const std::string output = OutputWith({{"VERBENA_STATS", "1"}});
  EXPECT_EQ(Count(output, "verbena: counters:"), 1) << output;
}

TEST(EnvironmentTest, WarnsOnceOfUnknownVariablesAndValues) {
  const std::string output =
      OutputWith({{"VERBENA_STATZ", "1"}, {"VERBENA_LOG", "loud"}, {"VERBENA_STATS", "yes"}});
  EXPECT_EQ(Count(output, "VERBENA_STATZ is not a variable of Verbena"), 1) << output;
  EXPECT_EQ(Count(output, "VERBENA_LOG must be error, warning, info or debug"), 1) << output;
  EXPECT_EQ(Count(output, "VERBENA_STATS must be 0 or 1"), 1) << output;
  EXPECT_EQ(Count(output, "counters:"), 0) << output;
}

}  // namespace
}  // namespace verbena::verbs
