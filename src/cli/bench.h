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

enum class Operation : uint8_t { kWrite, kRead, kSend, kAtomic };

[[nodiscard]] const char* NameOf(Operation operation);

// What to measure: how often the operation completes, with so much of it under way.
struct BenchSpec {
  Operation operation = Operation::kWrite;
  uint32_t size = 64;  // of an atomic always 8
  uint32_t qps = 1;
  uint32_t depth = 1;  // requests under way on each queue pair
  uint32_t batch = 1;  // requests that are posted, and complete, together; divides depth
  std::chrono::duration<double> time = std::chrono::seconds(1);
  uint64_t count = 0;  // if not 0, so many requests instead of `time`
};

struct BenchResult {
  BenchSpec spec = {};
  uint64_t requests = 0;
  double seconds = 0;
  Latencies latencies = {};     // from post to completion, of each batch
  SocketCounters sockets = {};  // what this end's sockets did meanwhile

  [[nodiscard]] double PerSecond() const { return static_cast<double>(requests) / seconds; }
  [[nodiscard]] double BytesPerSecond() const { return PerSecond() * spec.size; }
  [[nodiscard]] nlohmann::json ToJson() const;
};

// What a server must be for it.
[[nodiscard]] ServerRequest RequestFor(const BenchSpec& spec);

// Of a client whose server is as asked for. Ends early, with what it has, at Ctrl-C.
[[nodiscard]] ErrorOr<BenchResult> Bench(Endpoint& endpoint, BenchSpec spec);

}  // namespace verbena::cli
