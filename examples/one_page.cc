// A complete program on the C++ API: a server exposes some bytes of its memory, and a client writes
// to them. The server's program takes no part in the write.
//
//   one_page server PORT           prints the bytes that the client wrote
//   one_page client HOST PORT
//   one_page                       both, here

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>

#include "verbena/verbena.h"

namespace {

// Returns the value, or exits with the error.
template <class T>
T Must(verbena::ErrorOr<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().text.c_str());
    std::exit(EXIT_FAILURE);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// The objects of each end: registered memory, and a queue pair whose completions go to `cq`.
struct End {
  std::array<std::byte, 64> bytes{};
  verbena::Context context = Must(verbena::Context::Open());
  verbena::ProtectionDomain domain = Must(verbena::ProtectionDomain::Allocate(context));
  verbena::MemoryRegion region =
      Must(verbena::MemoryRegion::Register(domain, bytes, verbena::Access::kAll));
  verbena::CompletionQueue cq = Must(verbena::CompletionQueue::Create(context, 16));
  verbena::QueuePair qp =
      Must(verbena::QueuePair::Create(domain, {.send_cq = &cq, .receive_cq = &cq}));
};

void Serve(const verbena::RendezvousListener& listener) {
  const verbena::Rendezvous peer = Must(listener.Accept());
  End end;
  Must(peer.ConnectQp(end.qp));
  Must(peer.Send(end.region.Remote()));  // the address of the bytes, and their R_Key
  Must(peer.Receive<char>());            // the client has written
  std::printf("the server's memory says: %s\n", reinterpret_cast<const char*>(end.bytes.data()));
}

bool Write(const std::string& host, uint16_t port) {
  const verbena::Rendezvous peer = Must(verbena::Rendezvous::Connect(host, port));
  End end;
  Must(peer.ConnectQp(end.qp));
  const auto there = Must(peer.Receive<verbena::RemoteAddress>());
  std::strcpy(reinterpret_cast<char*>(end.bytes.data()), "hello, from the client");
  const auto posted = end.qp.Post(verbena::Write{.data = end.region.Local(0, 64), .remote = there});
  verbena::Completion done;
  while (posted && end.cq.Poll({&done, 1}).value_or(1) == 0) {
  }
  Must(peer.Send('w'));
  return posted && done.ok();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view role = argc > 1 ? argv[1] : "both";
  const auto port = [&](int at) {
    return static_cast<uint16_t>(argc > at ? std::atoi(argv[at]) : 0);
  };
  if (role == "client" && argc > 2) return Write(argv[2], port(3)) ? EXIT_SUCCESS : EXIT_FAILURE;
  const auto listener = Must(verbena::RendezvousListener::Listen(port(2)));
  if (role == "server") {
    Serve(listener);
    return EXIT_SUCCESS;
  }
  std::thread server([&] { Serve(listener); });
  const bool is_written = Write("127.0.0.1", listener.port());
  server.join();
  return is_written ? EXIT_SUCCESS : EXIT_FAILURE;
}
