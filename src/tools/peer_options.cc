#include "tools/peer_options.h"

#include <cstdio>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tools/server.h"

namespace verbena::tools {

void AddPeerOptions(CLI::App& command, PeerOptions& options) {
  auto* const host = command.add_option("host", options.peer.host,
                                        "where the server is; without it, this is the server");
  command.add_option("-p,--port", options.peer.port, "TCP port where the two ends meet")
      ->capture_default_str();
  command.add_flag("--self", options.self, "both ends in this program, over the loopback device")
      ->excludes(host);
  command.add_flag("--once", options.once, "as a server, end after the first client");
  command.add_flag("--json", options.json, "results as JSON");
}

ErrorOr<void> RunServer(const PeerOptions& options) {
  const auto listener = Listener::Open(options.peer.port);
  if (!listener) return tl::unexpected(listener.error());
  if (options.json) {
    std::printf("%s\n", nlohmann::json{{"listening", listener->port()}}.dump().c_str());
  } else {
    std::printf("waiting for clients on TCP port %u; Ctrl-C ends it\n",
                static_cast<unsigned>(listener->port()));
  }
  std::fflush(stdout);
  return ServeClients(*listener, options.once);
}

}  // namespace verbena::tools
