#include "tools/server.h"

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "tools/completions.h"
#include "tools/interrupt.h"
#include "tools/notes.h"

namespace verbena::tools {
namespace {

// How many polls of nothing there are between two looks at the client: a look is a system call.
constexpr int kPollsPerLook = 10'000;

// Of messages that come back each has a place of its own; of others nobody looks at the bytes.
uint64_t SlotsOf(const Ask& ask) { return ask.echo ? uint64_t{ask.qps} * ask.receives : 1; }

// With room for what stands in front of a datagram.
uint64_t SlotBytes(const Ask& ask) { return ask.message + kGrhBytes; }

EndpointSpec SpecFor(const Ask& ask) {
  return {.type = ask.type,
          .qps = ask.qps,
          .bytes = ask.window + SlotsOf(ask) * SlotBytes(ask),
          .depth = ask.echo ? ask.receives : 1,
          .receives = ask.receives};
}

WrId IdOf(size_t qp, size_t slot) { return WrId{kReceiveFlag | (uint64_t{qp} << 32) | slot}; }

tl::unexpected<Error> Refuse(std::string text) {
  return tl::unexpected(Error{.code = ErrorCode::kInvalid, .text = std::move(text)});
}

}  // namespace

ErrorOr<Server> Server::Welcome(Rendezvous& client) {
  const auto heard = client.Hear();
  if (!heard) return tl::unexpected(heard.error());
  auto ask = AskFrom(heard->value("ask", nlohmann::json()));
  const auto peer = IntroductionFrom(heard->value("introduction", nlohmann::json()));
  if (!ask || !peer) return Refuse("a client asked for something that makes no sense, or too much");
  const auto mtu =
      Context::LargestMtu({.source = client.own_gid(), .destination = client.peer_gid()});
  if (!mtu) return tl::unexpected(mtu.error());
  ask->mtu = std::min(ask->mtu, *mtu);
  auto endpoint = Endpoint::Open(SpecFor(*ask));
  if (!endpoint) return tl::unexpected(std::move(endpoint.error()));
  PrintWarnings((*endpoint)->context());
  Server server(*ask, client, std::move(*endpoint));
  auto done = server.PostReceives();
  if (done) done = server.endpoint_->Connect(client.own_gid(), *peer, ask->mtu, client.interface());
  if (done) {
    done = client.Tell({{"introduction", ToJson(server.endpoint_->Introduce(client.own_gid()))},
                        {"mtu", static_cast<unsigned>(ask->mtu)}});
  }
  if (!done) return tl::unexpected(std::move(done.error()));
  return server;
}

ErrorOr<void> Server::PostReceives() {
  for (size_t qp = 0; qp < ask_.qps; ++qp) {
    for (size_t i = 0; i < ask_.receives; ++i) {
      const size_t slot = ask_.echo ? qp * ask_.receives + i : 0;
      if (auto done = PostReceive(qp, slot); !done) return done;
    }
  }
  return {};
}

ErrorOr<void> Server::PostReceive(size_t qp, size_t slot) {
  const auto length = static_cast<uint32_t>(SlotBytes(ask_));
  return InWords(
      endpoint_->qps()[qp].Post(Receive{.id = IdOf(qp, slot), .data = SlotOf(slot, length)}));
}

Sge Server::SlotOf(size_t slot, uint32_t length) const {
  return endpoint_->region().Local(ask_.window + slot * SlotBytes(ask_), length);
}

ErrorOr<void> Server::Serve() {
  if (!ask_.sleeps) return PollUntilLeft();
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
    if (idle < kPollsPerLook) continue;
    if (client_->HasNews()) break;
    idle = 0;
  }
  return {};
}

// A receive is renewed when its bytes have been sent back, or at once.
ErrorOr<void> Server::OnCompletion(const Completion& completion) {
  // The client left before its last message was acknowledged, which is its right.
  if (!completion.ok() && client_->HasNews()) return {};
  if (!completion.ok()) return tl::unexpected(InWords(completion));
  const uint64_t id = Number(completion.id) & ~kReceiveFlag;
  const size_t qp = id >> 32;
  const size_t slot = id & 0xFFFF'FFFF;
  const bool arrived = (Number(completion.id) & kReceiveFlag) != 0;
  if (!arrived || !ask_.echo) return PostReceive(qp, slot);
  return InWords(endpoint_->qps()[qp].Post(Send{.id = WrId{id},
                                                .data = EchoOf(completion, slot),
                                                .to = endpoint_->to(completion.source_qp)}));
}

Sge Server::EchoOf(const Completion& completion, size_t slot) const {
  if (completion.opcode == CompletionOpcode::kReceiveWithImmediate) {
    return endpoint_->region().Local(Number(completion.immediate), completion.byte_count);
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

}  // namespace verbena::tools
