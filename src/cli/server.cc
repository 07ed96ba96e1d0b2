#include "cli/server.h"

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "cli/completions.h"
#include "cli/interrupt.h"
#include "cli/warnings.h"

namespace verbena::cli {
namespace {

// Empty polls between two checks of the rendezvous connection: a check is a system call.
constexpr int kEmptyPollsPerCheck = 10'000;

// A message that is echoed has a buffer of its own until the echo is sent. All others share one,
// since their bytes are not used.
uint64_t SlotsOf(const ServerRequest& request) {
  return request.echo ? uint64_t{request.qps} * request.receives : 1;
}

// With room for the GRH in front of a datagram.
uint64_t SlotBytes(const ServerRequest& request) { return request.message + kGrhBytes; }

EndpointSpec SpecFor(const ServerRequest& request) {
  return {.type = request.type,
          .qps = request.qps,
          .bytes = request.window + SlotsOf(request) * SlotBytes(request),
          .depth = request.echo ? request.receives : 1,
          .receives = request.receives};
}

WrId IdOf(size_t qp, size_t slot) { return WrId{kReceiveFlag | (uint64_t{qp} << 32) | slot}; }

tl::unexpected<Error> Refuse(std::string text) {
  return tl::unexpected(Error{.code = ErrorCode::kInvalid, .text = std::move(text)});
}

}  // namespace

ErrorOr<Server> Server::Welcome(JsonRendezvous& client) {
  const auto heard = client.Hear();
  if (!heard) return tl::unexpected(heard.error());
  auto request = ServerRequestFrom(heard->value("request", nlohmann::json()));
  const auto peer = HelloFrom(heard->value("hello", nlohmann::json()));
  if (!request || !peer) return Refuse("the request of the client is invalid, or exceeds a limit");
  const auto mtu =
      Context::LargestMtu({.source = client.own_gid(), .destination = client.peer_gid()});
  if (!mtu) return tl::unexpected(mtu.error());
  request->mtu = std::min(request->mtu, *mtu);
  auto endpoint = Endpoint::Open(SpecFor(*request));
  if (!endpoint) return tl::unexpected(std::move(endpoint.error()));
  PrintWarnings((*endpoint)->context());
  Server server(*request, client, std::move(*endpoint));
  auto done = server.PostReceives();
  if (done)
    done = server.endpoint_->Connect(client.own_gid(), *peer, request->mtu, client.interface());
  if (done) {
    done = client.Tell({{"hello", ToJson(server.endpoint_->SayHello(client.own_gid()))},
                        {"mtu", static_cast<unsigned>(request->mtu)}});
  }
  if (!done) return tl::unexpected(std::move(done.error()));
  return server;
}

ErrorOr<void> Server::PostReceives() {
  for (size_t qp = 0; qp < request_.qps; ++qp) {
    for (size_t i = 0; i < request_.receives; ++i) {
      const size_t slot = request_.echo ? qp * request_.receives + i : 0;
      if (auto done = PostReceive(qp, slot); !done) return done;
    }
  }
  return {};
}

ErrorOr<void> Server::PostReceive(size_t qp, size_t slot) {
  const auto length = static_cast<uint32_t>(SlotBytes(request_));
  return InWords(
      endpoint_->qps()[qp].Post(Receive{.id = IdOf(qp, slot), .data = SlotOf(slot, length)}));
}

Sge Server::SlotOf(size_t slot, uint32_t length) const {
  return endpoint_->region().Local(request_.window + slot * SlotBytes(request_), length);
}

ErrorOr<void> Server::Serve() {
  if (!request_.sleeps) return PollUntilLeft();
  client_->WaitForNews();
  return {};
}

ErrorOr<void> Server::PollUntilLeft() {
  for (int idle = 0; !Interrupted();) {
    const auto count = poller_.Poll(endpoint_->cq(), completions_);
    if (!count) return tl::unexpected(InWords(count.error()));
    for (const Completion& one : std::span(completions_).first(*count)) {
      if (auto done = OnCompletion(one); !done) return done;
    }
    idle = *count > 0 ? 0 : idle + 1;
    if (idle < kEmptyPollsPerCheck) continue;
    if (client_->HasNews()) break;
    idle = 0;
  }
  return {};
}

// Reposts the receive request when the echo of its message is sent, or at once without echo.
ErrorOr<void> Server::OnCompletion(const Completion& completion) {
  // A client may close the connection before its last message is acknowledged.
  if (!completion.ok() && client_->HasNews()) return {};
  if (!completion.ok()) return tl::unexpected(InWords(completion));
  const uint64_t id = completion.id.value() & ~kReceiveFlag;
  const size_t qp = id >> 32;
  const size_t slot = id & 0xFFFF'FFFF;
  const bool arrived = (completion.id.value() & kReceiveFlag) != 0;
  if (!arrived || !request_.echo) return PostReceive(qp, slot);
  return InWords(endpoint_->qps()[qp].Post(Send{.id = WrId{id},
                                                .data = EchoOf(completion, slot),
                                                .to = endpoint_->to(completion.source_qp)}));
}

Sge Server::EchoOf(const Completion& completion, size_t slot) const {
  if (completion.opcode == CompletionOpcode::kReceiveWithImmediate) {
    return endpoint_->region().Local(completion.immediate.value(), completion.byte_count);
  }
  const uint32_t header = endpoint_->header_bytes();
  Sge echo = SlotOf(slot, completion.byte_count - header);
  echo.address += header;
  return echo;
}

ErrorOr<void> ServeClients(const Listener& listener, bool once) {
  while (auto client = listener.Accept()) {
    auto server = Server::Welcome(*client);
    auto done = server ? server->Serve() : tl::unexpected(server.error());
    if (once) return done;
    if (!done) std::fprintf(stderr, "verbena: %s\n", done.error().text.c_str());
  }
  return {};
}

}  // namespace verbena::cli
