#include "cli/peer_options.h"

#include <cstdint>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "cli/json.h"
#include "cli/server.h"

namespace verbena::cli {

void AddPeerOptions(Command command, PeerOptions& options) {
  const CommandOption host = command.AddOption(
      "host", options.peer.host, "name or address of the server; without it, this is the server");
  command
      .AddOption("-p,--port", options.peer.port, "TCP port of the connection between the two ends")
      .ShowDefault()
      .Within(0, UINT16_MAX);
  command.AddFlag("--self", options.self, "run both ends in this program, over the loopback device")
      .Excludes(host);
  command.AddFlag("--once", options.once, "end the server after the first client");
  command.AddFlag("--json", options.json, "print results as JSON");
}

Outcome RunServer(const PeerOptions& options) {
  const auto listener = Listener::Open(options.peer.port);
  if (!listener) return tl::unexpected(listener.error());
  if (options.json) {
    std::printf("%s\n", ToLine({{"listening", listener->port()}}).c_str());
  } else {
    std::printf("waiting for clients on TCP port %u; stop with Ctrl-C\n",
                static_cast<unsigned>(listener->port()));
  }
  std::fflush(stdout);
  return ToOutcome(ServeClients(*listener, options.once));
}

}  // namespace verbena::cli
