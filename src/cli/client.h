#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "cli/endpoint.h"
#include "cli/rendezvous.h"
#include "cli/server_request.h"

namespace verbena::cli {

// Where the server is: on a host, or in a thread of this program if `host` is empty.
struct Peer {
  std::string host = "";
  uint16_t port = kMeetingPort;
};

// The client end, which opens the connection. If the peer has no host, the client starts a server
// thread of its own, which ends with it.
class Client {
 public:
  // `depth` is the number of outstanding work requests on each queue pair.
  [[nodiscard]] static ErrorOr<std::unique_ptr<Client>> Join(
      const Peer& peer, ServerRequest request, uint32_t depth,
      const ConnectSettings& settings = EndpointSpec().connect);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();

  [[nodiscard]] Endpoint& endpoint() { return *endpoint_; }
  [[nodiscard]] PathMtu mtu() const { return endpoint_->spec().connect.path_mtu.value(); }

 private:
  Client() = default;

  [[nodiscard]] ErrorOr<void> Meet(const Peer& peer);
  [[nodiscard]] ErrorOr<void> StartServer();
  [[nodiscard]] ErrorOr<void> Connect(ServerRequest request, uint32_t depth,
                                      const ConnectSettings& settings);

  std::thread server_;
  std::optional<JsonRendezvous> rendezvous_;
  std::unique_ptr<Endpoint> endpoint_;
};

}  // namespace verbena::cli
