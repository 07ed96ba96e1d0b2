// memory-model: compares the memory core with the reference over random operations.

#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "model/run.h"
#include "support/seed_options.h"

namespace {

using verbena::memory::model::Report;
using verbena::memory::model::RunSeed;
using verbena::memory::model::Tally;

constexpr const char* kHelp =
    "memory-model: compares the memory core with a naive reference, step by step.\n"
    "\n"
    "  --seed N       run this seed (default 1)\n"
    "  --seeds A..B   run these seeds, both included\n"
    "  --steps N      operations in each run (default 100000)\n"
    "  --tally        print how often each outcome was met\n"
    "  --help         print this\n"
    "\n"
    "Fails, and prints how to repeat the run, when the two differ.\n";

struct Arguments {
  verbena::SeedRange seeds;
  uint64_t steps = 100'000;
  bool tally = false;
  bool help = false;
};

std::optional<Arguments> Parse(int argc, char** argv) {
  Arguments arguments;
  const auto flag = [&](std::string_view name) {
    if (name == "--help") return arguments.help = true;
    return name == "--tally" && (arguments.tally = true);
  };
  const auto option = [&](std::string_view name, std::string_view value) {
    if (name != "--steps") return verbena::ParseSeedOption(name, value, arguments.seeds);
    const auto steps = verbena::ParseNumber(value);
    arguments.steps = steps.value_or(0);
    return steps.has_value();
  };
  if (!verbena::ParseArguments(argc, argv, flag, option)) return std::nullopt;
  return arguments;
}

// Seed and step of the current run. Global, because the handler of SIGABRT (a failed CHECK) prints
// them and can reach nothing else.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::array<volatile uint64_t, 2> g_seed_and_step;

void PrintSeed(int /*signal*/) {
  std::array<char, 160> text{};
  const uint64_t steps = g_seed_and_step[1] + 1;
  const int length = std::snprintf(
      text.data(), text.size(), "repeat with: build/bin/memory-model --seed %llu --steps %llu\n",
      static_cast<unsigned long long>(g_seed_and_step[0]), static_cast<unsigned long long>(steps));
  if (write(STDERR_FILENO, text.data(), static_cast<size_t>(length)) < 0) _exit(1);
}

int RunAll(const Arguments& arguments) {
  Tally tally;
  for (uint64_t seed = arguments.seeds.first; seed <= arguments.seeds.last; ++seed) {
    g_seed_and_step[0] = seed;
    const auto start = std::chrono::steady_clock::now();
    const Report report =
        RunSeed(seed, arguments.steps, [](uint64_t step) { g_seed_and_step[1] = step; });
    if (!report.agrees) return EXIT_FAILURE;
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    std::printf("seed %llu: %llu steps, %.0f a second\n", static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(report.steps),
                static_cast<double>(report.steps) / time.count());
    std::fflush(stdout);
    tally.Add(report.tally);
  }
  if (arguments.tally) std::fputs(tally.ToString().c_str(), stdout);
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Arguments> arguments = Parse(argc, argv);
  if (!arguments.has_value()) {
    std::fputs(kHelp, stderr);
    return 2;
  }
  if (arguments->help) {
    std::fputs(kHelp, stdout);
    return EXIT_SUCCESS;
  }
  std::signal(SIGABRT, PrintSeed);
  return RunAll(*arguments);
}
