// The round-trip time of plain TCP on this machine: two processes with a socket each, busy polling.
// It is the lower bound for the latency of iWARP between programs that poll.
//
//   tcp_floor --echo IPV4-ADDRESS [--bytes N]      serves one connection
//   tcp_floor --to IPV4-ADDRESS [--bytes N] [--round-trips N]

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "fabric/file_descriptor.h"

namespace {

using Clock = std::chrono::steady_clock;
using verbena::fabric::FileDescriptor;

constexpr size_t kWarmUp = 1'000;
constexpr uint16_t kPort = 20'501;
constexpr int kOn = 1;

struct Arguments {
  const char* echo = nullptr;
  const char* to = nullptr;
  size_t bytes = 64;
  size_t round_trips = 20'000;
};

sockaddr_in MakeAddress(const char* address) {
  sockaddr_in made{};
  made.sin_family = AF_INET;
  made.sin_addr.s_addr = inet_addr(address);
  made.sin_port = htons(kPort);
  return made;
}

FileDescriptor OpenSocket() {
  FileDescriptor file(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP));
  CHECK(file.is_open());
  return file;
}

// One end of a connection.
class Peer {
 public:
  Peer(FileDescriptor socket, size_t bytes) : socket_(std::move(socket)), message_(bytes) {
    CHECK(setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &kOn, sizeof kOn) == 0);
  }

  void Send() {
    CHECK(send(socket_.get(), message_.data(), message_.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(message_.size()));
  }
  // False if the other end has closed the connection.
  bool Receive() {
    for (size_t got = 0, empty = 0; got < message_.size();) {
      const ssize_t count =
          recv(socket_.get(), message_.data() + got, message_.size() - got, MSG_DONTWAIT);
      if (count == 0) return false;
      if (count > 0) {
        got += static_cast<size_t>(count);
        continue;
      }
      CHECK(errno == EAGAIN);
      // On a busy machine the other side may need the processor.
      if (++empty % 64 == 0) sched_yield();
    }
    return true;
  }

 private:
  FileDescriptor socket_;
  std::vector<std::byte> message_;
};

int Echo(const Arguments& arguments) {
  const FileDescriptor listener = OpenSocket();
  const sockaddr_in own = MakeAddress(arguments.echo);
  CHECK(setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &kOn, sizeof kOn) == 0);
  CHECK(bind(listener.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0);
  CHECK(listen(listener.get(), 1) == 0);
  FileDescriptor accepted(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  CHECK(accepted.is_open());
  Peer peer(std::move(accepted), arguments.bytes);
  while (peer.Receive()) peer.Send();
  return 0;
}

// Prints one object of JSON.
int Measure(const Arguments& arguments) {
  FileDescriptor file = OpenSocket();
  const sockaddr_in server = MakeAddress(arguments.to);
  CHECK(connect(file.get(), reinterpret_cast<const sockaddr*>(&server), sizeof server) == 0);
  Peer peer(std::move(file), arguments.bytes);
  const auto round_trip = [&] {
    const auto start = Clock::now();
    peer.Send();
    CHECK(peer.Receive());
    return (Clock::now() - start).count();
  };
  for (size_t i = 0; i < kWarmUp; ++i) round_trip();
  std::vector<int64_t> times(arguments.round_trips);
  std::ranges::generate(times, round_trip);
  std::ranges::sort(times);
  const auto at = [&](double part) {
    const auto index = static_cast<size_t>(part * static_cast<double>(times.size() - 1));
    return static_cast<double>(times[index]) / 1e3;
  };
  std::printf("{\"bytes\": %zu, \"round_trips\": %zu, \"p50_us\": %.2f, \"p99_us\": %.2f}\n",
              arguments.bytes, times.size(), at(0.5), at(0.99));
  return 0;
}

// 0 if the text is no positive number.
size_t NumberOf(const char* text) { return std::strtoul(text, nullptr, 10); }

bool Parse(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option(argv[i]);
    const char* const value = argv[i + 1];
    if (option == "--echo") {
      arguments.echo = value;
    } else if (option == "--to") {
      arguments.to = value;
    } else if (option == "--bytes") {
      arguments.bytes = NumberOf(value);
    } else if (option == "--round-trips") {
      arguments.round_trips = NumberOf(value);
    } else {
      return false;
    }
  }
  const bool is_one = (arguments.echo == nullptr) != (arguments.to == nullptr);
  return argc % 2 == 1 && is_one && arguments.bytes > 0 && arguments.round_trips > 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!Parse(argc, argv, arguments)) {
    std::fprintf(stderr,
                 "usage: tcp_floor --echo IPV4-ADDRESS [--bytes N]\n"
                 "       tcp_floor --to IPV4-ADDRESS [--bytes N] [--round-trips N]\n");
    return 2;
  }
  return arguments.echo != nullptr ? Echo(arguments) : Measure(arguments);
}
