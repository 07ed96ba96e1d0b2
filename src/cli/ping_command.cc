#include <cstdio>
#include <memory>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/json.h"
#include "cli/peer_options.h"
#include "cli/ping.h"

namespace verbena::cli {
namespace {

constexpr const char* kPingExamples =
    "Examples:\n"
    "  verbena ping --self               both ends on this machine\n"
    "  verbena ping                      the server\n"
    "  verbena ping 10.0.0.2 -s 4K       the client: 4 KiB back and forth\n";

struct PingOptions {
  PeerOptions common = {};
  PingSpec spec = {};
};

Outcome Run(const PingOptions& options) {
  if (options.common.is_server()) return RunServer(options.common);
  const auto latencies = Ping(options.common.peer, options.spec);
  if (!latencies) return tl::unexpected(latencies.error());
  if (options.common.json) {
    const nlohmann::json json = {{"bytes", options.spec.size},
                                 {"round_trips", latencies->count()},
                                 {"round_trip_us", latencies->ToJson()}};
    std::printf("%s\n", ToLines(json).c_str());
  } else {
    std::printf("%zu messages of %u bytes back and forth, all intact: %s\n", latencies->count(),
                options.spec.size, latencies->ToText().c_str());
  }
  return {};
}

}  // namespace

void AddPingCommand(Command root, Outcome& outcome) {
  const auto options = std::make_shared<PingOptions>();
  Command command = root.AddCommand(
      "ping", "send messages back and forth on a reliable connection, and check each");
  AddPeerOptions(command, options->common);
  constexpr uint32_t kSizeMax = 1U << 28;
  constexpr uint64_t kCountMax = 100'000'000;  // the latency of each is stored
  command.AddSize("-s,--size", options->spec.size, 0, kSizeMax, "bytes per message");
  command.AddOption("-n,--count", options->spec.count, "number of messages")
      .ShowDefault()
      .Within(1, kCountMax);
  command.SetExamples(kPingExamples);
  command.SetWork([options, &outcome] { outcome = Run(*options); });
}

}  // namespace verbena::cli
