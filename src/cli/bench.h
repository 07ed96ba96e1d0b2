#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cli/client.h"
#include "cli/latencies.h"
#include "verbena/counters.h"
#include "verbena/error.h"

namespace verbena::cli {

enum class BenchOperation : uint8_t { kWrite, kRead, kSend, kAtomic };

[[nodiscard]] const char* NameOf(BenchOperation operation);

// What to measure: how often the operation completes with a given depth.
struct BenchSpec {
  BenchOperation operation = BenchOperation::kWrite;
  uint32_t size = 64;  // always 8 for an atomic
  uint32_t qps = 1;
  uint32_t depth = 1;  // outstanding requests on each queue pair
  uint32_t batch = 1;  // requests that are posted, and complete, together; divides depth
  std::chrono::duration<double> time = std::chrono::seconds(1);
  uint64_t count = 0;  // if not 0, run this many requests instead of for `time`
};

struct BenchResult {
  BenchSpec spec = {};
  uint64_t requests = 0;
  double seconds = 0;
  Latencies latencies = {};     // from post to completion, of each batch
  SocketCounters sockets = {};  // counters of this end's sockets during the run

  [[nodiscard]] double PerSecond() const { return static_cast<double>(requests) / seconds; }
  [[nodiscard]] double BytesPerSecond() const { return PerSecond() * spec.size; }
  [[nodiscard]] nlohmann::json ToJson() const;
};

// The request to the server for this measurement.
[[nodiscard]] ServerRequest RequestFor(const BenchSpec& spec);

// Measures with a client whose server got RequestFor(spec). Ctrl-C ends it early, with the results
// so far.
[[nodiscard]] ErrorOr<BenchResult> Bench(Endpoint& endpoint, BenchSpec spec);

}  // namespace verbena::cli
