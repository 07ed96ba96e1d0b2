#include "cli/client.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <nlohmann/json.hpp>

#include "cli/json.h"
#include "cli/server.h"
#include "cli/warnings.h"

namespace verbena::cli {

ErrorOr<std::unique_ptr<Client>> Client::Join(const Peer& peer, ServerRequest request,
                                              uint32_t depth, const ConnectSettings& settings) {
  std::unique_ptr<Client> client(new Client());
  auto done = client->Meet(peer);
  if (done) done = client->Connect(request, depth, settings);
  if (!done) return tl::unexpected(std::move(done.error()));
  return client;
}

// The server ends when the rendezvous connection is closed.
Client::~Client() {
  rendezvous_.reset();
  if (server_.joinable()) server_.join();
}

ErrorOr<void> Client::Meet(const Peer& peer) {
  if (peer.host.empty()) return StartServer();
  auto met = JsonRendezvous::Meet(peer.host, peer.port);
  if (!met) return tl::unexpected(std::move(met.error()));
  rendezvous_ = std::move(*met);
  return {};
}

ErrorOr<void> Client::StartServer() {
  auto listener = Listener::Open(0);
  if (!listener) return tl::unexpected(std::move(listener.error()));
  auto done = Meet({.host = "127.0.0.1", .port = listener->port()});
  if (!done) return done;
  server_ = std::thread([listener = std::move(*listener)] {
    const auto served = ServeClients(listener, true);
    if (!served) std::fprintf(stderr, "verbena, server: %s\n", served.error().text.c_str());
  });
  return {};
}

ErrorOr<void> Client::Connect(ServerRequest request, uint32_t depth,
                              const ConnectSettings& settings) {
  const Gid own = rendezvous_->own_gid();
  const auto mtu = Context::LargestMtu({.source = own, .destination = rendezvous_->peer_gid()});
  if (!mtu) return tl::unexpected(mtu.error());
  request.mtu = *mtu;
  auto endpoint =
      Endpoint::Open({.type = request.type,
                      .qps = request.qps,
                      .bytes = std::max(request.window, 2 * request.message + kGrhBytes),
                      .depth = depth,
                      .receives = request.echo ? request.receives : 1,
                      .connect = settings});
  if (!endpoint) return tl::unexpected(std::move(endpoint.error()));
  endpoint_ = std::move(*endpoint);
  PrintWarnings(endpoint_->context());
  auto done = rendezvous_->Tell(
      {{"request", ToJson(request)}, {"hello", ToJson(endpoint_->SayHello(own))}});
  if (!done) return done;
  const auto answer = rendezvous_->Hear();
  if (!answer) return tl::unexpected(answer.error());
  const auto peer = HelloFrom(answer->value("hello", nlohmann::json()));
  const auto agreed = NumberAt(*answer, "mtu", static_cast<unsigned>(request.mtu));
  if (!peer || !agreed) {
    return tl::unexpected(Error{.text = "the response of the server cannot be read; both ends "
                                        "need the same version of verbena"});
  }
  return endpoint_->Connect(own, *peer, static_cast<PathMtu>(*agreed), rendezvous_->interface());
}

}  // namespace verbena::cli
