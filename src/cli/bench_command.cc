#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/bench.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/peer_options.h"
#include "cli/text.h"

namespace verbena::cli {
namespace {

constexpr const char* kBenchExamples =
    "Examples:\n"
    "  verbena bench --self                                 everything, on this machine\n"
    "  verbena bench                                        the server\n"
    "  verbena bench 10.0.0.2 -o write,read -m bandwidth    the client\n"
    "  verbena bench 10.0.0.2 -o read -s 4K -d 32 -q 8      reads with these sizes only\n";

constexpr std::array kOperations{BenchOperation::kWrite, BenchOperation::kRead,
                                 BenchOperation::kSend, BenchOperation::kAtomic};
constexpr uint32_t kSmall = 64;
constexpr uint32_t kLarge = 1U << 20;
constexpr uint32_t kSizeMax = 1U << 28;
constexpr double kSecondsMin = 0.001;
constexpr double kSecondsMax = 86'400;  // a day
constexpr uint64_t kRequestsMax = 1'000'000'000'000;

enum class Figure : uint8_t { kLatency, kRate, kBandwidth };
constexpr std::array kFigures{Figure::kLatency, Figure::kRate, Figure::kBandwidth};

struct BenchOptions {
  PeerOptions common = {};
  std::vector<size_t> operations = {0, 1, 2, 3};  // indices into kOperations
  std::vector<size_t> figures = {0, 1, 2};        // indices into kFigures
  uint32_t size = 0;                              // size, depth, batch: 0 is the figure's default
  uint32_t depth = 0;
  uint32_t batch = 0;
  uint32_t qps = 1;
  double seconds = 1;
  uint64_t count = 0;
  bool sleeps = false;
};

BenchSpec SpecFor(const BenchOptions& options, BenchOperation operation, Figure figure) {
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
  for (const size_t figure : options.figures) {
    for (const size_t operation : options.operations) {
      // Atomics of eight bytes have no meaningful bandwidth.
      if (kFigures[figure] == Figure::kBandwidth &&
          kOperations[operation] == BenchOperation::kAtomic) {
        continue;
      }
      specs.push_back(SpecFor(options, kOperations[operation], kFigures[figure]));
    }
  }
  return specs;
}

void Print(const BenchResult& result) {
  const BenchSpec& spec = result.spec;
  std::printf("%-7s%-10s %6s/s %10s/s   %s\n", NameOf(spec.operation), BytesText(spec.size).c_str(),
              CountText(result.PerSecond()).c_str(), BytesText(result.BytesPerSecond()).c_str(),
              spec.depth == 1
                  ? result.latencies.ToText().c_str()
                  : Text("depth %u, %u queue pairs: p50 %.1f us, p99 %.1f", spec.depth, spec.qps,
                         result.latencies.WithinUs(0.5), result.latencies.WithinUs(0.99))
                        .c_str());
  std::fflush(stdout);
}

// Each measurement has a connection of its own, so that none is affected by the one before.
ErrorOr<BenchResult> RunOne(const BenchOptions& options, const BenchSpec& spec) {
  ServerRequest request = RequestFor(spec);
  request.sleeps = options.sleeps;
  auto client = Client::Join(options.common.peer, request, spec.depth);
  if (!client) return tl::unexpected(std::move(client.error()));
  return Bench((*client)->endpoint(), spec);
}

Outcome Run(const BenchOptions& options) {
  if (options.common.is_server()) return RunServer(options.common);
  if (options.batch > options.depth && options.depth > 0) {
    return Misuse(
        Text("-b %u is more than -d %u: a batch cannot have more requests than may be outstanding",
             options.batch, options.depth));
  }
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
  if (options.common.json) std::printf("%s\n", ToLines(all).c_str());
  return {};
}

std::vector<std::string> OperationNames() {
  std::vector<std::string> names;
  for (const BenchOperation operation : kOperations) names.emplace_back(NameOf(operation));
  return names;
}

}  // namespace

void AddBenchCommand(Command root, Outcome& outcome) {
  const auto options = std::make_shared<BenchOptions>();
  Command command =
      root.AddCommand("bench", "measure latency, request rate and bandwidth of each operation");
  AddPeerOptions(command, options->common);
  command.AddChoices("-o,--operation", options->operations, OperationNames(),
                     "operations to measure, with commas between several (all)");
  command.AddChoices("-m,--measure", options->figures, {"latency", "rate", "bandwidth"},
                     "which figures, with commas between several (all)");
  command.AddSize("-s,--size", options->size, 1, kSizeMax, "bytes per request");
  command.AddOption("-d,--depth", options->depth, "outstanding requests per queue pair")
      .Within(1, 2'048);
  command.AddOption("-b,--batch", options->batch, "requests that are posted together")
      .Within(1, 2'048);
  command.AddOption("-q,--qps", options->qps, "number of queue pairs").Within(1, 8'192);
  const CommandOption seconds =
      command.AddOption("-t,--seconds", options->seconds, "time of each measurement")
          .ShowDefault()
          .WithinReal(kSecondsMin, kSecondsMax);
  command.AddOption("-n,--count", options->count, "requests of each measurement, instead of a time")
      .Within(1, kRequestsMax)
      .Excludes(seconds);
  command.AddFlag("--sleeping-server", options->sleeps,
                  "the server does not poll: its progress thread does the work");
  command.SetExamples(kBenchExamples);
  command.SetWork([options, &outcome] { outcome = Run(*options); });
}

}  // namespace verbena::cli
