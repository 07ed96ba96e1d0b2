// One process registers shared memory for all processes of its machine: a worker finds it through
// the broker, fills it, and names it to a peer, which reads from the adapter of the owner. The
// worker has no adapter and registers nothing.
//
//   verbena broker &
//   shared_buffer [--broker SOCKET]           all three, here
//   shared_buffer owner [--broker SOCKET]     the owner alone, until it is killed
//
// verbena cache --shared shows the buffer meanwhile.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <span>
#include <string>

#include "examples/support/endpoint.h"
#include "examples/support/two_ends.h"

namespace {

using examples::Endpoint;
using examples::Must;
using verbena::Access;
using verbena::Rendezvous;
using verbena::RendezvousListener;
using verbena::SharedBuffers;

constexpr size_t kBytes = 1 << 20;
constexpr char kText[] = "written by the worker, read through the owner";
std::string broker;  // empty: the one of this user

// What the worker sends to the peer.
struct Invitation {
  verbena::RemoteAddress where;
  uint32_t length = 0;
  uint16_t port = 0;  // of the owner
};

std::span<std::byte> Map(int file) {
  void* const at = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return at != MAP_FAILED ? std::span(static_cast<std::byte*>(at), kBytes) : std::span<std::byte>();
}

bool Own(const RendezvousListener& listener) {
  Endpoint end;
  const int file = memfd_create("frames", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, kBytes) != 0) return false;
  const auto region =
      end.Register(Map(file), Access::kLocal | Access::kRemoteRead | Access::kRemoteWrite);
  auto buffers = Must(SharedBuffers::Open(broker));
  // The worker is to write: a key for reading only would give it the memory for reading only.
  const auto published =
      Must(buffers.Publish({.name = "frames",
                            .length = kBytes,
                            .remote = region.Remote(),
                            .access = Access::kRemoteRead | Access::kRemoteWrite,
                            .contact = "127.0.0.1:" + std::to_string(listener.port())},
                           file));
  std::printf("owner: registered %zu bytes, and published them\n", kBytes);
  const Rendezvous peer = Must(listener.Accept());
  return end.Connect(peer) && peer.Receive<char>().has_value();
}

verbena::FoundBuffer Await(SharedBuffers& buffers) {
  for (int i = 0; i < 1'000; ++i) {
    if (auto found = buffers.Find("frames", Access::kRemoteRead)) return std::move(*found);
    usleep(10'000);
  }
  return {};
}

bool Work(const std::string& host, uint16_t port) {
  auto buffers = Must(SharedBuffers::Open(broker));
  const verbena::FoundBuffer found = Await(buffers);
  if (!found) return false;
  const std::span<std::byte> bytes = Map(found.file());
  if (bytes.empty()) return false;
  std::memcpy(bytes.data(), kText, sizeof kText);
  const std::string& contact = found.buffer().contact;
  std::printf("worker: found it, owned by process %u, with peers at %s\n", found.owner().pid,
              contact.c_str());
  const auto peer = Rendezvous::Connect(host, port);
  if (!peer || !found.is_current()) return false;
  const auto owner_port = static_cast<uint16_t>(std::stoi(contact.substr(contact.find(':') + 1)));
  return peer->Send(Invitation{found.buffer().remote, sizeof kText, owner_port}).has_value();
}

bool ReadAsPeer(const RendezvousListener& listener) {
  const auto invitation = Must(Must(listener.Accept()).Receive<Invitation>());
  const auto owner = Must(Rendezvous::Connect("127.0.0.1", invitation.port));
  Endpoint end;
  if (!end.Connect(owner)) return false;
  std::vector<std::byte> copy(invitation.length);
  const auto region = end.Register(copy, Access::kLocal);
  Must(end.qp.Post(
      verbena::Read{.data = region.Local(0, invitation.length), .remote = invitation.where}));
  if (!end.WaitSuccess() || std::memcmp(copy.data(), kText, sizeof kText) != 0) return false;
  std::printf("peer: read \"%s\"\n", reinterpret_cast<const char*>(copy.data()));
  return owner.Send('!').has_value();
}

// Before any device is opened: a child could not use it.
pid_t SpawnOwner() {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child != 0) return child;
  const auto listener = Must(RendezvousListener::Listen(0));
  const bool ok = Own(listener);
  std::fflush(stdout);
  _exit(ok ? EXIT_SUCCESS : EXIT_FAILURE);
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string(argv[i]) == "--broker") broker = argv[i + 1];
  }
  if (argc > 1 && std::string(argv[1]) == "owner") {
    return examples::ExitCode(Own(Must(RendezvousListener::Listen(0))));
  }
  const auto listener = Must(RendezvousListener::Listen(0));
  const pid_t owner = SpawnOwner();
  const pid_t worker = examples::Spawn(Work, "127.0.0.1", listener.port());
  const bool is_read = ReadAsPeer(listener);
  const bool is_worked = examples::Join(worker);
  return examples::ExitCode(examples::Join(owner) && is_worked && is_read);
}
