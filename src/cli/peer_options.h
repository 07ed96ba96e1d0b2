#pragma once

#include <string>

#include "cli/client.h"
#include "cli/command_line.h"
#include "cli/outcome.h"

namespace verbena::cli {

// The options of all subcommands that have two ends.
struct PeerOptions {
  Peer peer = {};
  bool self = false;
  bool once = false;
  bool json = false;

  // Whether this end waits for clients.
  [[nodiscard]] bool is_server() const { return !self && peer.host.empty(); }
};

void AddPeerOptions(Command command, PeerOptions& options);

// The server side of such a subcommand.
[[nodiscard]] Outcome RunServer(const PeerOptions& options);

}  // namespace verbena::cli
