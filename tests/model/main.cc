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
  uint64_t first_seed = 1;
  uint64_t last_seed = 1;
  uint64_t steps = 100'000;
  bool tally = false;
  bool help = false;
};

std::optional<uint64_t> ParseNumber(std::string_view text) {
  uint64_t value = 0;
  if (text.empty() || text.size() > 18) return std::nullopt;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<uint64_t>(c - '0');
  }
  return value;
}

bool ParseSeeds(std::string_view text, Arguments& arguments) {
  const size_t dots = text.find("..");
  const auto first = ParseNumber(text.substr(0, dots));
  const auto last = dots == std::string_view::npos ? first : ParseNumber(text.substr(dots + 2));
  if (!first.has_value() || !last.has_value() || *last < *first) return false;
  arguments.first_seed = *first;
  arguments.last_seed = *last;
  return true;
}

std::optional<Arguments> Parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--help") {
      arguments.help = true;
      continue;
    }
    if (name == "--tally") {
      arguments.tally = true;
      continue;
    }
    if (++i == argc) return std::nullopt;
    const std::string_view value = argv[i];
    const auto number = ParseNumber(value);
    if (name == "--steps" && number.has_value()) {
      arguments.steps = *number;
    } else if (name == "--seed" ? !number.has_value() || !ParseSeeds(value, arguments)
                                : name != "--seeds" || !ParseSeeds(value, arguments)) {
      return std::nullopt;
    }
  }
  return arguments;
}

// Where the run is, for the case that a CHECK ends the process: a signal handler can reach nothing
// else. NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::array<volatile uint64_t, 2> g_seed_and_step;

void SayWhere(int /*signal*/) {
  std::array<char, 160> text{};
  const uint64_t steps = g_seed_and_step[1] + 1;
  const int length = std::snprintf(
      text.data(), text.size(), "repeat with: build/bin/memory-model --seed %llu --steps %llu\n",
      static_cast<unsigned long long>(g_seed_and_step[0]), static_cast<unsigned long long>(steps));
  if (write(STDERR_FILENO, text.data(), static_cast<size_t>(length)) < 0) _exit(1);
}

int RunAll(const Arguments& arguments) {
  Tally tally;
  for (uint64_t seed = arguments.first_seed; seed <= arguments.last_seed; ++seed) {
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
  std::signal(SIGABRT, SayWhere);
  return RunAll(*arguments);
}
