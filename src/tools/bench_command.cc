#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tools/bench.h"
#include "tools/commands.h"
#include "tools/interrupt.h"
#include "tools/peer_options.h"
#include "tools/text.h"

namespace verbena::tools {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  verbena bench --self                                 everything, on this machine\n"
    "  verbena bench                                        the server\n"
    "  verbena bench 10.0.0.2 -o write -m bandwidth         the client\n"
    "  verbena bench 10.0.0.2 -o read -s 4096 -d 32 -q 8    with these sizes and nothing else\n";

constexpr std::array kOperations{Operation::kWrite, Operation::kRead, Operation::kSend,
                                 Operation::kAtomic};
constexpr uint32_t kSmall = 64;
constexpr uint32_t kLarge = 1U << 20;

enum class Figure : uint8_t { kLatency, kRate, kBandwidth };

const std::map<std::string, Figure> kFigures = {
    {"latency", Figure::kLatency}, {"rate", Figure::kRate}, {"bandwidth", Figure::kBandwidth}};

struct BenchOptions {
  PeerOptions common = {};
  std::vector<Operation> operations = {kOperations.begin(), kOperations.end()};
  std::vector<Figure> figures = {Figure::kLatency, Figure::kRate, Figure::kBandwidth};
  uint32_t size = 0;  // these three: as the figure is best taken
  uint32_t depth = 0;
  uint32_t batch = 0;
  uint32_t qps = 1;
  double seconds = 1;
  uint64_t count = 0;
  bool sleeps = false;
};

BenchSpec SpecFor(const BenchOptions& options, Operation operation, Figure figure) {
  BenchSpec spec{.operation = operation,
                 .size = kSmall,
                 .qps = options.qps,
                 .time = std::chrono::duration<double>(options.seconds),
                 .count = options.count};
  if (figure == Figure::kRate) {
    spec.depth = 256;
    spec.batch = 32;
  } else if (figure == Figure::kBandwidth) {
    spec.size = kLarge;
    spec.depth = 8;
  }
  if (options.size != 0) spec.size = options.size;
  if (options.depth != 0) spec.depth = options.depth;
  if (options.batch != 0) spec.batch = options.batch;
  return spec;
}

std::vector<BenchSpec> SpecsFor(const BenchOptions& options) {
  std::vector<BenchSpec> specs;
  for (const Figure figure : options.figures) {
    for (const Operation operation : options.operations) {
      // Eight bytes at a time make no bandwidth.
      if (figure == Figure::kBandwidth && operation == Operation::kAtomic) continue;
      specs.push_back(SpecFor(options, operation, figure));
    }
  }
  return specs;
}

void Print(const BenchResult& result) {
  const BenchSpec& spec = result.spec;
  std::printf("%-7s%-10s %6s/s %10s/s   %s\n", NameOf(spec.operation), BytesText(spec.size).c_str(),
              CountText(result.PerSecond()).c_str(), BytesText(result.BytesPerSecond()).c_str(),
              spec.depth == 1 ? result.latencies.ToText().c_str()
                              : Text("%u under way on %u queue pairs; half within %.1f us",
                                     spec.depth, spec.qps, result.latencies.WithinUs(0.5))
                                    .c_str());
  std::fflush(stdout);
}

// A connection of its own for each, so that none suffers from the one before.
ErrorOr<BenchResult> RunOne(const BenchOptions& options, const BenchSpec& spec) {
  Ask ask = AskFor(spec);
  ask.sleeps = options.sleeps;
  auto client = Client::Join(options.common.peer, ask, spec.depth);
  if (!client) return tl::unexpected(std::move(client.error()));
  return Bench((*client)->endpoint(), spec);
}

Outcome Run(const BenchOptions& options) {
  if (options.common.is_server()) return RunServer(options.common);
  auto all = nlohmann::json::array();
  for (const BenchSpec& spec : SpecsFor(options)) {
    if (Interrupted()) break;
    const auto result = RunOne(options, spec);
    if (!result) return tl::unexpected(result.error());
    if (options.common.json) {
      all.push_back(result->ToJson());
    } else {
      Print(*result);
    }
  }
  if (options.common.json) std::printf("%s\n", all.dump(2).c_str());
  return {};
}

std::map<std::string, Operation> OperationNames() {
  std::map<std::string, Operation> names;
  for (const Operation operation : kOperations) names[NameOf(operation)] = operation;
  return names;
}

}  // namespace

void AddBenchCommand(CLI::App& app, Outcome& outcome) {
  const auto options = std::make_shared<BenchOptions>();
  CLI::App* const command =
      app.add_subcommand("bench", "latency, request rate and bandwidth of each operation");
  AddPeerOptions(*command, options->common);
  command->add_option("-o,--operation", options->operations, "write, read, send, atomic")
      ->transform(CLI::CheckedTransformer(OperationNames()).description(""));
  command->add_option("-m,--measure", options->figures, "latency, rate, bandwidth")
      ->transform(CLI::CheckedTransformer(kFigures).description(""));
  command->add_option("-s,--size", options->size, "bytes of a request, up to 256 MiB")
      ->check(CLI::Range(1U, 1U << 28));
  command->add_option("-d,--depth", options->depth, "requests under way on a queue pair")
      ->check(CLI::Range(1U, 2'048U));
  command->add_option("-b,--batch", options->batch, "requests posted together")
      ->check(CLI::Range(1U, 2'048U));
  command->add_option("-q,--qps", options->qps, "queue pairs")->check(CLI::Range(1U, 8'192U));
  command->add_option("-t,--seconds", options->seconds, "of each measurement")
      ->capture_default_str();
  command->add_option("-n,--count", options->count, "so many requests instead");
  command->add_flag("--sleeping-server", options->sleeps, "the server does not poll");
  command->footer(kExamples);
  command->callback([options, &outcome] { outcome = Run(*options); });
}

}  // namespace verbena::tools
