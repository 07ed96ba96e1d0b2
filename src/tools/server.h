#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "tools/ask.h"
#include "tools/endpoint.h"
#include "tools/poller.h"
#include "tools/rendezvous.h"

namespace verbena::tools {

// The end that waits: takes what a client sends, gives it back if asked, and lets the client use
// its memory. Lives for one client, and serves in the thread that calls.
class Server {
 public:
  // Hears what the client wants, opens it and answers.
  [[nodiscard]] static ErrorOr<Server> Welcome(Rendezvous& client);

  // Until the client leaves, or Ctrl-C. A connection that breaks is an error.
  [[nodiscard]] ErrorOr<void> Serve();

 private:
  Server(const Ask& ask, Rendezvous& client, std::unique_ptr<Endpoint> endpoint)
      : ask_(ask), client_(&client), endpoint_(std::move(endpoint)) {}

  [[nodiscard]] ErrorOr<void> PostReceives();
  [[nodiscard]] ErrorOr<void> PostReceive(size_t qp, size_t slot);
  [[nodiscard]] Sge SlotOf(size_t slot, uint32_t length) const;
  // The bytes that go back.
  [[nodiscard]] Sge EchoOf(const Completion& completion, size_t slot) const;
  [[nodiscard]] ErrorOr<void> PollUntilLeft();
  [[nodiscard]] ErrorOr<void> OnCompletion(const Completion& completion);

  Ask ask_;
  Rendezvous* client_;
  std::unique_ptr<Endpoint> endpoint_;
  Poller poller_;
  std::array<Completion, 64> completions_{};
};

// Serves clients one after the other until Ctrl-C; with `once`, the first one. What goes wrong with
// a client is said on standard error; `once`, it is the result.
[[nodiscard]] ErrorOr<void> ServeClients(const Listener& listener, bool once);

}  // namespace verbena::tools
