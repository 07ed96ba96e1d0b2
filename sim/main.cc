// verbena-sim: runs reliable connections over a bad network on bad memory, in virtual time.

#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "sim/simulator.h"

#ifndef VERBENA_COMMIT
#define VERBENA_COMMIT "unknown"
#endif

namespace {

using verbena::sim::Simulator;
using verbena::sim::Swarm;
using Clock = std::chrono::steady_clock;

constexpr const char* kHelp =
    "verbena-sim: reliable connections on a bad network and bad memory, in virtual time.\n"
    "\n"
    "  --seed N       run this seed (default 1)\n"
    "  --seeds A..B   run these seeds, both included\n"
    "  --minutes M    go on from the first seed for so long\n"
    "  --pcap FILE    write the packets of the (last) run to FILE, as pcapng\n"
    "  --verbose      print the options of each seed, and what happened\n"
    "  --help         print this\n"
    "\n"
    "One seed fixes everything. Stops at the first failure, prints how to repeat it, and writes\n"
    "its packets to verbena-sim-N.pcapng.\n";

struct Arguments {
  uint64_t first_seed = 1;
  uint64_t last_seed = 1;
  uint64_t minutes = 0;
  std::string capture;
  bool verbose = false;
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
  if (!first || !last || *last < *first) return false;
  arguments.first_seed = *first;
  arguments.last_seed = *last;
  return true;
}

bool ParseOption(std::string_view name, std::string_view value, Arguments& arguments) {
  if (name == "--seed") return ParseNumber(value) && ParseSeeds(value, arguments);
  if (name == "--seeds") return ParseSeeds(value, arguments);
  if (name == "--pcap") {
    arguments.capture = value;
    return !value.empty();
  }
  if (name != "--minutes" || !ParseNumber(value)) return false;
  arguments.minutes = *ParseNumber(value);
  return true;
}

std::optional<Arguments> Parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--help") {
      arguments.help = true;
    } else if (name == "--verbose") {
      arguments.verbose = true;
    } else if (++i == argc || !ParseOption(name, argv[i], arguments)) {
      return std::nullopt;
    }
  }
  return arguments;
}

// For the case that a CHECK ends the process: a signal handler can reach nothing else.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
volatile uint64_t g_seed;

void SaySeed(int /*signal*/) {
  std::array<char, 200> text{};
  const auto seed = static_cast<unsigned long long>(g_seed);
  const int length = std::snprintf(text.data(), text.size(),
                                   "FAILED: seed %llu, commit " VERBENA_COMMIT
                                   "\nrepeat with: build/bin/verbena-sim --seed %llu --verbose\n",
                                   seed, seed);
  if (write(STDERR_FILENO, text.data(), static_cast<size_t>(length)) < 0) _exit(1);
}

Simulator::Result RunWithCapture(const Swarm& swarm, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  verbena::wire::PcapngWriter writer([&file](std::span<const std::byte> bytes) {
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  });
  return Simulator::Run(swarm, &writer);
}

void Describe(const Swarm& swarm, const Simulator::Result& result) {
  std::printf(
      "%s-> %llu operations, %llu packets, %llu page requests, %llu connections broken, "
      "%s, digest %016llx\n",
      swarm.ToString().c_str(), static_cast<unsigned long long>(result.posted),
      static_cast<unsigned long long>(result.packets),
      static_cast<unsigned long long>(result.faults),
      static_cast<unsigned long long>(result.broken),
      verbena::ToString(result.virtual_time).c_str(),
      static_cast<unsigned long long>(result.digest));
}

// Runs it once more, for its packets.
void TellFailure(const Swarm& swarm, const Simulator::Result& result) {
  const std::string path = "verbena-sim-" + std::to_string(swarm.seed) + ".pcapng";
  RunWithCapture(swarm, path);
  std::printf("FAILED: seed %llu, commit " VERBENA_COMMIT
              "\n%s%s\npackets: %s\n"
              "repeat with: build/bin/verbena-sim --seed %llu --verbose\n",
              static_cast<unsigned long long>(swarm.seed), swarm.ToString().c_str(),
              result.failure.c_str(), path.c_str(), static_cast<unsigned long long>(swarm.seed));
}

void TellProgress(uint64_t done, Clock::time_point start, const char* end) {
  const std::chrono::duration<double> time = Clock::now() - start;
  std::printf("%llu seeds, %.1f a second, 0 failures%s", static_cast<unsigned long long>(done),
              static_cast<double>(done) / time.count(), end);
  std::fflush(stdout);
}

int RunAll(const Arguments& arguments) {
  const auto start = Clock::now();
  const auto end = start + std::chrono::minutes(arguments.minutes);
  auto told = start;
  uint64_t done = 0;
  for (uint64_t seed = arguments.first_seed;; ++seed) {
    if (arguments.minutes > 0 ? Clock::now() >= end : seed > arguments.last_seed) break;
    g_seed = seed;
    const Swarm swarm = Swarm::Draw(seed);
    const Simulator::Result result = arguments.capture.empty()
                                         ? Simulator::Run(swarm, nullptr)
                                         : RunWithCapture(swarm, arguments.capture);
    if (arguments.verbose) Describe(swarm, result);
    if (!result.failure.empty()) {
      TellFailure(swarm, result);
      return EXIT_FAILURE;
    }
    ++done;
    if (Clock::now() - told > std::chrono::seconds(2)) {
      told = Clock::now();
      TellProgress(done, start, isatty(STDOUT_FILENO) != 0 ? "\r" : "\n");
    }
  }
  TellProgress(done, start, "\n");
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Arguments> arguments = Parse(argc, argv);
  if (!arguments) {
    std::fputs(kHelp, stderr);
    return 2;
  }
  if (arguments->help) {
    std::fputs(kHelp, stdout);
    return EXIT_SUCCESS;
  }
  std::signal(SIGABRT, SaySeed);
  return RunAll(*arguments);
}
