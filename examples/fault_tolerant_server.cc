// A server that survives faulty clients. It converts text to upper case, with one shared receive
// queue and one completion queue. Clients use invalid keys, disappear in the middle of a request,
// are killed, or never send anything. The server drops each of them and continues with the others.
//
//   fault_tolerant_server                       the server and its clients, here
//   fault_tolerant_server server [PORT]         until it is stopped
//   fault_tolerant_server client HOST [PORT]    one well-behaved client

#include <fcntl.h>

#include <array>
#include <cctype>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "examples/support/endpoint.h"
#include "examples/support/two_ends.h"

namespace {

using examples::Endpoint;
using examples::Must;
using verbena::Access;
using verbena::AsyncEventType;
using verbena::QpNumber;
using verbena::Rendezvous;

constexpr uint32_t kBytes = 64;
constexpr uint32_t kReceives = 64;

// A peer counts as gone after about a second without acknowledgement: eight transmissions, each
// with a timeout of 134 ms.
constexpr verbena::ConnectSettings kLinkTimeouts = {.timeout = 15, .retry_count = 7};

class Server {
 public:
  Server() {
    fcntl(context_.events_fd(), F_SETFL, O_NONBLOCK);
    for (uint32_t i = 0; i < kReceives; ++i) PostReceive(i);
  }

  // Handles all pending events. Never waits for a client.
  void Step(const verbena::RendezvousListener& listener) {
    if (listener.HasCaller()) callers_.push_back(Must(listener.Accept()));
    AdmitThoseWhoSpoke();
    std::array<verbena::Completion, 16> completions;
    const size_t count = cq_.Poll(completions).value_or(0);
    for (size_t i = 0; i < count; ++i) Handle(completions[i]);
    while (const auto event = context_.WaitEvent()) Handle(*event);
    DropThoseWhoHungUp();
    if (Clock::now() >= next_probe_) ProbeClients();
  }

  [[nodiscard]] int ended() const { return ended_; }
  [[nodiscard]] int served() const { return served_; }

 private:
  using Clock = std::chrono::steady_clock;

  struct Client {
    int number = 0;
    Rendezvous rendezvous;
    verbena::QueuePair qp;
  };

  void AdmitThoseWhoSpoke() {
    for (size_t i = 0; i < callers_.size();) {
      if (!callers_[i].HasNews()) {
        ++i;
        continue;
      }
      if (!Admit(std::move(callers_[i]))) {
        std::printf("server: a caller sent no valid address\n");
        ++ended_;
      }
      callers_.erase(callers_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  [[nodiscard]] bool Admit(Rendezvous rendezvous) {
    // The caller may have sent only a part of its address.
    rendezvous.LimitWaits(std::chrono::milliseconds(100));
    const auto remote = rendezvous.Receive<verbena::QpAddress>();
    if (!remote) return false;
    auto qp = Must(verbena::QueuePair::Create(
        domain_,
        {.send_cq = &cq_, .receive_cq = &cq_, .srq = &srq_, .send = {.inline_max = kBytes}}));
    const verbena::QpAddress local{qp.number(), rendezvous.local_gid(), verbena::Psn{}};
    if (!qp.Connect(local, *remote, kLinkTimeouts) || !rendezvous.Send(local)) return false;
    const QpNumber name = qp.number();
    clients_.emplace(name, Client{++admitted_, std::move(rendezvous), std::move(qp)});
    return true;
  }

  void Handle(const verbena::Completion& completion) {
    const auto found = clients_.find(completion.qp);
    const bool is_known = found != clients_.end();
    if (!completion.ok()) {
      if (is_known) Drop(found->first, NameOf(completion.status));
    } else if (completion.opcode == verbena::CompletionOpcode::kReceive) {
      const auto buffer = static_cast<uint32_t>(completion.id.value());
      if (is_known) Answer(found->second, buffer, completion.byte_count);
      PostReceive(buffer);
    }
  }

  void Handle(const verbena::AsyncEvent& event) {
    const bool is_error = event.type == AsyncEventType::kQpFatal ||
                          event.type == AsyncEventType::kQpRequestError ||
                          event.type == AsyncEventType::kQpAccessError;
    if (is_error) Drop(event.qp, NameOf(event.type));
  }

  void Answer(Client& client, uint32_t buffer, uint32_t length) {
    for (uint32_t i = 0; i < length; ++i) {
      char& letter = memory_[buffer * kBytes + i];
      letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    }
    // Inline, so that the buffer can be reused at once. If the send queue is full, the client does
    // not acknowledge its answers.
    const auto posted = client.qp.Post(
        verbena::Send{.data = region_.Local(buffer * kBytes, length), .flags = {.inlined = true}});
    if (posted) {
      ++served_;
    } else {
      Drop(client.qp.number(), ToString(posted.error()).c_str());
    }
  }

  void DropThoseWhoHungUp() {
    DropIf("hung up", [](const Client& client) { return client.rendezvous.HasNews(); });
  }

  // An empty write needs no key and has no effect at the peer, but a peer that is gone does not
  // acknowledge it. With it the server notices the loss of a client that it sends nothing to.
  void ProbeClients() {
    DropIf("its queue is full",
           [](const Client& client) { return !client.qp.Post(verbena::Write{}); });
    next_probe_ = Clock::now() + std::chrono::milliseconds(200);
  }

  template <class Predicate>
  void DropIf(const char* why, Predicate is_to_go) {
    std::vector<QpNumber> gone;
    for (const auto& [name, client] : clients_) {
      if (is_to_go(client)) gone.push_back(name);
    }
    for (const QpNumber name : gone) Drop(name, why);
  }

  // Destroys the resources of this client and touches nothing else.
  void Drop(QpNumber name, const char* why) {
    const auto found = clients_.find(name);
    if (found == clients_.end()) return;
    std::printf("server: client %d: %s\n", found->second.number, why);
    clients_.erase(found);
    ++ended_;
  }

  void PostReceive(uint32_t buffer) {
    Must(srq_.Post(verbena::Receive{.id = verbena::WrId{buffer},
                                    .data = region_.Local(buffer * kBytes, kBytes)}));
  }

  verbena::Context context_ = Must(verbena::Context::Open());
  verbena::ProtectionDomain domain_ = Must(verbena::ProtectionDomain::Allocate(context_));
  verbena::CompletionQueue cq_ = Must(verbena::CompletionQueue::Create(context_, 4'096));
  verbena::SharedReceiveQueue srq_ = Must(verbena::SharedReceiveQueue::Create(domain_, kReceives));
  std::vector<char> memory_ = std::vector<char>(kReceives * kBytes);
  verbena::MemoryRegion region_ = Must(verbena::MemoryRegion::Register(
      domain_, std::as_writable_bytes(std::span(memory_)), Access::kLocal));
  std::vector<Rendezvous> callers_;  // connected, but without an address
  std::unordered_map<QpNumber, Client> clients_;
  Clock::time_point next_probe_ = Clock::now();
  int admitted_ = 0;
  int ended_ = 0;
  int served_ = 0;
};

// A client, well-behaved or not.
class Caller {
 public:
  [[nodiscard]] bool Connect(const std::string& host, uint16_t port) {
    auto made = Rendezvous::Connect(host, port);
    if (!made) return false;
    rendezvous_ = std::move(*made);
    const verbena::QpAddress local{end_->qp.number(), rendezvous_->local_gid(), verbena::Psn{}};
    const auto remote = rendezvous_->Swap(local);
    if (remote) Must(end_->qp.Connect(local, *remote));
    return remote.has_value();
  }

  void Ask(const char* text) {
    std::memcpy(bytes_.data(), text, std::strlen(text));
    const auto length = static_cast<uint32_t>(std::strlen(text));
    Must(end_->qp.Post(verbena::Receive{.data = region_.Local(kBytes, kBytes)}));
    Must(end_->qp.Post(
        verbena::Send{.data = region_.Local(0, length), .flags = {.signaled = false}}));
  }

  [[nodiscard]] std::string Answer() const {
    const auto completion = end_->Wait();
    if (!completion || !completion->ok()) return "";
    return {bytes_.data() + kBytes, completion->byte_count};
  }

  // Writes with a key that the server has not sent.
  [[nodiscard]] verbena::CompletionStatus WriteAnywhere() const {
    Must(end_->qp.Post(
        verbena::Write{.data = region_.Local(0, 8), .remote = {0x1000, verbena::Key{0x1234567}}}));
    return end_->Wait().value_or(verbena::Completion{}).status;
  }

  // Closes the device but keeps the TCP connection open. True if the server then closes it.
  [[nodiscard]] bool Vanish() {
    region_ = {};
    end_.reset();
    return !rendezvous_->Receive<char>().has_value();
  }

 private:
  std::array<char, 2 * kBytes> bytes_{};
  std::optional<Endpoint> end_{std::in_place};
  std::optional<Rendezvous> rendezvous_;
  verbena::MemoryRegion region_ =
      end_->Register(std::as_writable_bytes(std::span(bytes_)), Access::kLocal);
};

bool Behave(const std::string& host, uint16_t port) {
  Caller caller;
  if (!caller.Connect(host, port)) return false;
  for (int i = 0; i < 100; ++i) {
    caller.Ask("carry on");
    if (caller.Answer() != "CARRY ON") return false;
  }
  return true;
}

bool UseAForeignKey(const std::string& host, uint16_t port) {
  Caller caller;
  return caller.Connect(host, port) &&
         caller.WriteAnywhere() == verbena::CompletionStatus::kRemoteAccessError;
}

bool VanishBeforeTheAnswer(const std::string& host, uint16_t port) {
  Caller caller;
  if (!caller.Connect(host, port)) return false;
  caller.Ask("is a server");
  if (caller.Answer().empty()) return false;
  caller.Ask("there");
  return caller.Vanish();
}

bool BeKilled(const std::string& host, uint16_t port) {
  Caller caller;
  if (!caller.Connect(host, port)) return false;
  caller.Ask("good bye");
  // Runs no destructors, so that the peer gets no packet.
  _exit(EXIT_SUCCESS);
}

bool SayNothing(const std::string& host, uint16_t port) {
  const auto rendezvous = Rendezvous::Connect(host, port);
  usleep(300'000);
  return rendezvous.has_value();
}

bool ServeForEver(const verbena::RendezvousListener& listener) {
  Server server;
  while (true) server.Step(listener);
}

// Runs all clients in parallel, two of them well-behaved; then one more.
bool Demonstrate() {
  const auto listener = verbena::RendezvousListener::Listen(0);
  if (!listener) return false;
  constexpr examples::ClientEnd kClients[] = {Behave,   UseAForeignKey, VanishBeforeTheAnswer,
                                              BeKilled, SayNothing,     Behave};
  constexpr int kAll = std::size(kClients) + 1;
  std::vector<pid_t> children;
  for (const examples::ClientEnd client : kClients) {
    children.push_back(examples::Spawn(client, "127.0.0.1", listener->port()));
  }
  Server server;
  while (server.ended() < kAll - 1) server.Step(*listener);
  children.push_back(examples::Spawn(Behave, "127.0.0.1", listener->port()));
  while (server.ended() < kAll) server.Step(*listener);
  bool ok = true;
  for (const pid_t child : children) ok = examples::Join(child) && ok;
  std::printf("server: %d clients, %d answers, and still running\n", kAll, server.served());
  return ok && server.served() >= 300;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 1) return examples::ExitCode(Demonstrate());
  return examples::RunEnds(argc, argv, ServeForEver, Behave);
}
