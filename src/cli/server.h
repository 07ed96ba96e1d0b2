#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "cli/endpoint.h"
#include "cli/poller.h"
#include "cli/rendezvous.h"
#include "cli/server_request.h"

namespace verbena::cli {

// The passive end: receives messages of a client, echoes them if requested, and lets the client
// access its memory. Serves one client, in the calling thread.
class Server {
 public:
  // Receives the client's request, opens an endpoint for it and answers.
  [[nodiscard]] static ErrorOr<Server> Welcome(JsonRendezvous& client);

  // Returns when the client leaves, or at Ctrl-C. A broken connection is an error.
  [[nodiscard]] ErrorOr<void> Serve();

 private:
  Server(const ServerRequest& request, JsonRendezvous& client, std::unique_ptr<Endpoint> endpoint)
      : request_(request), client_(&client), endpoint_(std::move(endpoint)) {}

  [[nodiscard]] ErrorOr<void> PostReceives();
  [[nodiscard]] ErrorOr<void> PostReceive(size_t qp, size_t slot);
  [[nodiscard]] Sge SlotOf(size_t slot, uint32_t length) const;
  // The bytes to echo.
  [[nodiscard]] Sge EchoOf(const Completion& completion, size_t slot) const;
  [[nodiscard]] ErrorOr<void> PollUntilLeft();
  [[nodiscard]] ErrorOr<void> OnCompletion(const Completion& completion);

  ServerRequest request_;
  JsonRendezvous* client_;
  std::unique_ptr<Endpoint> endpoint_;
  Poller poller_;
  std::array<Completion, 64> completions_{};
};

// Serves clients one after the other until Ctrl-C; with `once`, only the first. The error of a
// client goes to standard error; with `once`, it is the result.
[[nodiscard]] ErrorOr<void> ServeClients(const Listener& listener, bool once);

}  // namespace verbena::cli
