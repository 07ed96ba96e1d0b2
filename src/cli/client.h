#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "cli/endpoint.h"
#include "cli/rendezvous.h"
#include "cli/server_request.h"

namespace verbena::cli {

// Where the other end is: on a host, or, without one, in a thread of this program.
struct Peer {
  std::string host = "";
  uint16_t port = kMeetingPort;
};

// The end that begins. With a server of its own if it has no host; that one ends with it.
class Client {
 public:
  // `depth` is how many work requests it will have under way on each queue pair.
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
  std::optional<Rendezvous> rendezvous_;
  std::unique_ptr<Endpoint> endpoint_;
};

}  // namespace verbena::cli
