// verbena-sim: runs adapters over a bad network on bad memory, in virtual time.

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
#include <utility>
#include <vector>

#include "sim/cm/run.h"
#include "sim/iwarp/run.h"
#include "sim/paging/run.h"
#include "sim/simulator.h"
#include "tests/support/seed_options.h"

#ifndef VERBENA_COMMIT
#define VERBENA_COMMIT "unknown"
#endif

namespace {

using verbena::sim::CmPlan;
using verbena::sim::CmRun;
using verbena::sim::IwarpPlan;
using verbena::sim::IwarpRun;
using verbena::sim::PagingPlan;
using verbena::sim::PagingRun;
using verbena::sim::Simulator;
using verbena::sim::Swarm;
using Clock = std::chrono::steady_clock;

constexpr const char* kHelp =
    "Simulates adapters with faults of network and memory, in virtual time.\n"
    "Usage: verbena-sim [OPTIONS]\n"
    "\n"
    "  --seed N       run this seed (default 1)\n"
    "  --seeds A..B   run these seeds, both included\n"
    "  --guests       with guests of a hypervisor, where memory is managed\n"
    "  --cache        with programs that register through the registration cache\n"
    "  --paging       simulate the pager of managed memory on a failing swap store instead\n"
    "  --cm           simulate connection managers on a bad network instead\n"
    "  --iwarp        simulate iWARP queue pairs over a bad byte stream instead\n"
    "  --minutes M    run seeds from the first one on for this many minutes\n"
    "  --keep-going   do not stop at the first failure\n"
    "  --pcap FILE    write the packets of the last run to FILE, as pcapng\n"
    "  --verbose      print the options of each seed, and what happened\n"
    "  --help         print this\n"
    "\n"
    "One seed determines the whole run. A failure prints the command that repeats it, and writes\n"
    "its packets to verbena-sim-N.pcapng. A failed CHECK ends the program, and prints the command\n"
    "that writes them. With --paging, --cm or --iwarp a failure writes its events to a file like\n"
    "verbena-sim-cm-N.txt; there are no packets.\n\n"
    "Examples:\n"
    "  verbena-sim --seeds 1..100\n"
    "  verbena-sim --seed 17 --verbose --pcap run.pcapng\n"
    "  verbena-sim --cm --minutes 1\n";

// What is simulated: adapters, or one of the other state machines.
enum class Subject : uint8_t { kAdapters, kGuests, kCache, kPaging, kCm, kIwarp };

const char* OptionOf(Subject subject) {
  switch (subject) {
    case Subject::kAdapters:
      return "";
    case Subject::kGuests:
      return "--guests ";
    case Subject::kCache:
      return "--cache ";
    case Subject::kPaging:
      return "--paging ";
    case Subject::kCm:
      return "--cm ";
    case Subject::kIwarp:
      return "--iwarp ";
  }
  return "";
}

struct Arguments {
  verbena::SeedRange seeds;
  uint64_t minutes = 0;
  std::string capture;
  bool keep_going = false;
  bool verbose = false;
  Subject subject = Subject::kAdapters;
  bool help = false;
};

bool ParseFlag(std::string_view name, Arguments& arguments) {
  if (name == "--help") return arguments.help = true;
  for (const Subject subject :
       {Subject::kGuests, Subject::kCache, Subject::kPaging, Subject::kCm, Subject::kIwarp}) {
    if (std::string(name) + " " != OptionOf(subject)) continue;
    arguments.subject = subject;
    return true;
  }
  if (name == "--keep-going") return arguments.keep_going = true;
  return name == "--verbose" && (arguments.verbose = true);
}

bool ParseOption(std::string_view name, std::string_view value, Arguments& arguments) {
  if (name == "--pcap") {
    arguments.capture = value;
    return !value.empty();
  }
  if (name != "--minutes") return verbena::ParseSeedOption(name, value, arguments.seeds);
  arguments.minutes = verbena::ParseNumber(value).value_or(0);
  return arguments.minutes > 0;
}

std::optional<Arguments> Parse(int argc, char** argv) {
  Arguments arguments;
  const bool ok = verbena::ParseArguments(
      argc, argv, [&](std::string_view name) { return ParseFlag(name, arguments); },
      [&](std::string_view name, std::string_view value) {
        return ParseOption(name, value, arguments);
      });
  return ok ? std::optional(arguments) : std::nullopt;
}

// For the case that a CHECK ends the process: a signal handler can reach nothing else.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
volatile uint64_t g_seed;
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
volatile Subject g_subject;

// Runs are deterministic, so another run can write the packets.
void SaySeed(int /*signal*/) {
  std::array<char, 300> text{};
  const auto seed = static_cast<unsigned long long>(g_seed);
  const bool has_packets = g_subject == Subject::kAdapters;
  const int length =
      has_packets ? std::snprintf(text.data(), text.size(),
                                  "FAILED: seed %llu, commit " VERBENA_COMMIT
                                  "\nrepeat with: build/bin/verbena-sim --seed %llu --verbose "
                                  "--pcap verbena-sim-%llu.pcapng\n",
                                  seed, seed, seed)
                  : std::snprintf(text.data(), text.size(),
                                  "FAILED: seed %llu, commit " VERBENA_COMMIT
                                  "\nrepeat with: build/bin/verbena-sim %s--seed %llu --verbose\n",
                                  seed, OptionOf(g_subject), seed);
  if (write(STDERR_FILENO, text.data(), static_cast<size_t>(length)) < 0) _exit(1);
}

// `is_written` becomes false, after an error message, if the file cannot be written.
Simulator::Result RunWithCapture(const Swarm& swarm, const std::string& path, bool& is_written) {
  std::ofstream file(path, std::ios::binary);
  verbena::wire::PcapngWriter writer([&file](std::span<const std::byte> bytes) {
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    file.flush();  // a CHECK may end the process at any packet
  });
  const Simulator::Result result = Simulator::Run(swarm, &writer);
  is_written = file.good();
  if (!is_written) std::fprintf(stderr, "verbena-sim: cannot write %s\n", path.c_str());
  return result;
}

void Describe(const Simulator::Result& result) {
  const std::pair<uint64_t, const char*> counts[] = {
      {result.posted, "operations"},
      {result.messages, "unreliable messages"},
      {result.group_messages, "of groups"},
      {result.departures, "departures from groups"},
      {result.packets, "packets"},
      {result.faults, "page requests"},
      {result.broken, "connections broken"},
      {result.srq_limits, "SRQ limit events"},
      {result.overflows, "CQ overflows"},
      {result.xrc_succeeded, "XRC requests"},
      {result.xrc_refused, "for no SRQ"},
      {result.resumed, "send queues resumed"},
      {result.tags_matched, "tags matched"},
      {result.unexpected, "unexpected"},
      {result.rendezvous, "rendezvous"},
      {result.uc_held, "times UC kept packets"},
      {result.managed.reads, "managed reads"},
      {result.managed.loaded, "pages swapped in"},
      {result.managed.broken, "lost"},
      {result.managed.discarded, "discards"},
      {result.managed.budgets, "new budgets"},
      {result.managed.taken, "times taken by the host"},
      {result.managed.awaited, "awaited"},
      {result.managed.hypervisor.grants, "grants of the hypervisor"},
      {result.managed.hypervisor.lowered, "lowered"},
      {result.managed.hypervisor.crashes, "crashes of the broker"},
      {result.managed.hypervisor.guests_gone, "guests that crashed"},
      {result.cached.cache.hits_fast + result.cached.cache.hits_slow, "cache hits"},
      {result.cached.cache.misses, "misses"},
      {result.cached.cache.merges, "merges"},
      {result.cached.cache.changes, "changes in place"},
      {result.cached.cache.evictions, "evictions"},
      {result.cached.cache.invalidations, "invalidations"},
      {result.cached.replaced, "pages given up"},
  };
  std::string text;
  for (const auto& [count, name] : counts) text += std::to_string(count) + " " + name + ", ";
  std::printf("-> %s%s, digest %016llx\n", text.c_str(),
              verbena::ToString(result.virtual_time).c_str(),
              static_cast<unsigned long long>(result.digest));
}

struct Progress {
  Clock::time_point start = Clock::now();
  Clock::time_point printed_at = start;
  uint64_t done = 0;
  std::vector<uint64_t> failed = {};  // seeds
  bool is_written = true;             // the file of --pcap
};

void Tell(const Progress& progress, const char* end) {
  const std::chrono::duration<double> time = Clock::now() - progress.start;
  std::printf("%llu seeds, %.1f a second, %zu failures",
              static_cast<unsigned long long>(progress.done),
              static_cast<double>(progress.done) / time.count(), progress.failed.size());
  for (const uint64_t seed : progress.failed) {
    std::printf(" %llu", static_cast<unsigned long long>(seed));
  }
  std::fputs(end, stdout);
  std::fflush(stdout);
}

void Describe(const PagingRun::Result& result) {
  const auto& counters = result.counters;
  std::printf(
      "-> %llu goals, %llu wants, %llu reads, %llu writes, %llu granules lost, %llu refusals, %s, "
      "digest %016llx\n",
      static_cast<unsigned long long>(result.goals),
      static_cast<unsigned long long>(counters.requests),
      static_cast<unsigned long long>(counters.reads),
      static_cast<unsigned long long>(counters.writes),
      static_cast<unsigned long long>(result.lost),
      static_cast<unsigned long long>(counters.refused_broken + counters.refused_limit),
      verbena::ToString(result.virtual_time).c_str(),
      static_cast<unsigned long long>(result.digest));
}

void Describe(const CmRun::Result& result) {
  const std::pair<uint64_t, const char*> counts[] = {
      {result.datagrams, "datagrams"},     {result.events, "events"},
      {result.established, "established"}, {result.rejected, "rejected"},
      {result.unreachable, "unreachable"}, {result.disconnected, "disconnected"},
      {result.refused, "refused"},
  };
  std::string text;
  for (const auto& [count, name] : counts) text += std::to_string(count) + " " + name + ", ";
  std::printf("-> %s%s, digest %016llx\n", text.c_str(),
              verbena::ToString(result.virtual_time).c_str(),
              static_cast<unsigned long long>(result.digest));
}

void Describe(const IwarpRun::Result& result) {
  const std::pair<uint64_t, const char*> counts[] = {
      {result.posted, "operations"},          {result.messages, "messages"},
      {result.segments, "segments"},          {result.early, "frames placed early"},
      {result.page_waits, "waits for pages"}, {result.one_touch, "one-touch keys ended"},
      {result.broken, "connections broken"},  {result.terminated, "terminated"},
  };
  std::string text;
  for (const auto& [count, name] : counts) text += std::to_string(count) + " " + name + ", ";
  std::printf("-> %s%s, digest %016llx\n", text.c_str(),
              verbena::ToString(result.virtual_time).c_str(),
              static_cast<unsigned long long>(result.digest));
}

// Handles one seed: run(plan), and after a failure record(plan), which runs it again and returns
// where the record is. True unless it fails.
template <class Plan, class Run, class Record>
bool RunPlan(const Plan& plan, const Arguments& arguments, Run run, Record record) {
  if (arguments.verbose) std::fputs(plan.ToString().c_str(), stdout);
  std::fflush(stdout);
  const auto result = run(plan);
  if (arguments.verbose) Describe(result);
  if (result.failure.empty()) return true;
  const std::string left = record(plan);
  const auto seed = static_cast<unsigned long long>(plan.seed);
  std::printf("FAILED: seed %llu, commit " VERBENA_COMMIT
              "\n%s%s\n%s\n"
              "repeat with: build/bin/verbena-sim %s--seed %llu --verbose\n",
              seed, plan.ToString().c_str(), result.failure.c_str(), left.c_str(),
              OptionOf(arguments.subject), seed);
  return false;
}

bool RunAdapters(const Swarm& drawn, const Arguments& arguments, bool& is_written) {
  const auto run = [&](const Swarm& swarm) {
    return arguments.capture.empty() ? Simulator::Run(swarm, nullptr)
                                     : RunWithCapture(swarm, arguments.capture, is_written);
  };
  return RunPlan(drawn, arguments, run, [](const Swarm& swarm) {
    const std::string path = "verbena-sim-" + std::to_string(swarm.seed) + ".pcapng";
    bool has_packets = false;
    RunWithCapture(swarm, path, has_packets);
    return has_packets ? "packets: " + path : std::string();
  });
}

// For state machines without packets: writes the events as text.
template <class Machine, class Plan>
bool RunMachine(const char* name, const Plan& drawn, const Arguments& arguments) {
  const auto run = [](const Plan& plan) { return Machine::Run(plan, {}); };
  return RunPlan(drawn, arguments, run, [name](const Plan& plan) {
    const std::string path =
        std::string("verbena-sim-") + name + "-" + std::to_string(plan.seed) + ".txt";
    std::ofstream file(path);
    Machine::Run(plan, [&file](const std::string& line) { file << line << "\n"; });
    return "trace: " + path;
  });
}

bool RunSubject(uint64_t seed, const Arguments& arguments, bool& is_written) {
  switch (arguments.subject) {
    case Subject::kAdapters:
      return RunAdapters(Swarm::Draw(seed), arguments, is_written);
    case Subject::kGuests:
      return RunAdapters(Swarm::DrawWithGuests(seed), arguments, is_written);
    case Subject::kCache:
      return RunAdapters(Swarm::DrawWithCache(seed), arguments, is_written);
    case Subject::kPaging:
      return RunMachine<PagingRun>("paging", PagingPlan::Draw(seed), arguments);
    case Subject::kCm:
      return RunMachine<CmRun>("cm", CmPlan::Draw(seed), arguments);
    case Subject::kIwarp:
      return RunMachine<IwarpRun>("iwarp", IwarpPlan::Draw(seed), arguments);
  }
  return false;
}

void RunSeed(uint64_t seed, const Arguments& arguments, Progress& progress) {
  g_seed = seed;
  g_subject = arguments.subject;
  const bool is_good = RunSubject(seed, arguments, progress.is_written);
  ++progress.done;
  if (!is_good) progress.failed.push_back(seed);
}

int RunAll(const Arguments& arguments) {
  Progress progress;
  const auto end = progress.start + std::chrono::minutes(arguments.minutes);
  for (uint64_t seed = arguments.seeds.first;; ++seed) {
    if (arguments.minutes > 0 ? Clock::now() >= end : seed > arguments.seeds.last) break;
    RunSeed(seed, arguments, progress);
    if (!progress.is_written || (!progress.failed.empty() && !arguments.keep_going)) break;
    if (Clock::now() - progress.printed_at > std::chrono::seconds(2)) {
      progress.printed_at = Clock::now();
      Tell(progress, isatty(STDOUT_FILENO) != 0 ? "\r" : "\n");
    }
  }
  if (!progress.is_written) return EXIT_FAILURE;
  Tell(progress, "\n");
  return progress.failed.empty() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Arguments> arguments = Parse(argc, argv);
  if (!arguments) {
    std::fputs("Run verbena-sim --help for more.\n", stderr);
    return 2;
  }
  if (arguments->help) {
    std::fputs(kHelp, stdout);
    return EXIT_SUCCESS;
  }
  std::signal(SIGABRT, SaySeed);
  return RunAll(*arguments);
}
