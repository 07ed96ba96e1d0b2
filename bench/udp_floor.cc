// The round-trip time of plain UDP on this machine: two threads with a socket each, busy polling.
// It is the lower bound for the latency of the adapter. --fabric uses UdpFabric instead, to measure
// its overhead. Between two machines or namespaces, one side runs --echo until it is killed, the
// other
// --to.
//
//   udp_floor [--json] [--fabric] [--round-trips N] [--to IPV4-ADDRESS]
//   udp_floor --echo IPV4-ADDRESS

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "fabric/file_descriptor.h"
#include "fabric/udp_fabric.h"

namespace {

using Clock = std::chrono::steady_clock;
using verbena::IpAddress;
using verbena::fabric::FileDescriptor;
using verbena::fabric::FlushResult;
using verbena::fabric::UdpFabric;

constexpr size_t kBytes = 64;
constexpr size_t kWarmUp = 1'000;

constexpr uint16_t kEchoPort = 20'500;

sockaddr_in MakeAddress(in_addr_t address, uint16_t port) {
  sockaddr_in made{};
  made.sin_family = AF_INET;
  made.sin_addr.s_addr = address;
  made.sin_port = htons(port);
  return made;
}

// A socket on a loopback port that the kernel chooses by default.
class SocketPeer {
 public:
  explicit SocketPeer(const sockaddr_in& own = MakeAddress(htonl(INADDR_LOOPBACK), 0))
      : socket_(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)), address_(own) {
    socklen_t size = sizeof(address_);
    CHECK(bind(socket_.get(), generic(), size) == 0);
    CHECK(getsockname(socket_.get(), generic(), &size) == 0);
  }

  void SendTo(const SocketPeer& other) { SendTo(other.address_); }
  void SendTo(const sockaddr_in& to) {
    CHECK(sendto(socket_.get(), bytes_.data(), kBytes, 0, reinterpret_cast<const sockaddr*>(&to),
                 sizeof(to)) == kBytes);
  }
  // Returns the address of the sender.
  sockaddr_in Receive() {
    sockaddr_in from{};
    socklen_t size = sizeof(from);
    for (int empty = 1; recvfrom(socket_.get(), bytes_.data(), kBytes, 0,
                                 reinterpret_cast<sockaddr*>(&from), &size) < 0;
         ++empty) {
      CHECK(errno == EAGAIN);
      // Yields like the verbena command: on a busy machine the other side may need the processor.
      if (empty % 64 == 0) sched_yield();
    }
    return from;
  }

 private:
  sockaddr* generic() { return reinterpret_cast<sockaddr*>(&address_); }

  FileDescriptor socket_;
  sockaddr_in address_{};
  std::array<std::byte, kBytes> bytes_{};
};

// The same with a fabric.
class FabricPeer {
 public:
  FabricPeer() {
    auto fabric = UdpFabric::Open({.endpoint = {.ports = {.first = 20'000}}});
    CHECK(fabric);
    fabric_ = std::move(*fabric);
  }

  void SendTo(FabricPeer& other) {
    constexpr IpAddress kLoopback = IpAddress::FromIpv4(127, 0, 0, 1);
    CHECK(fabric_->Reserve({.from = kLoopback, .to = {kLoopback, other.fabric_->port()}}, kBytes));
    CHECK(fabric_->Flush() == FlushResult::kDone);
  }
  void Receive() {
    while (fabric_->Receive().empty()) {
    }
  }

 private:
  std::unique_ptr<UdpFabric> fabric_;
};

// The times of all round trips in nanoseconds, sorted.
std::vector<int64_t> TimeEach(size_t count, const auto& round_trip) {
  std::vector<int64_t> times;
  times.reserve(kWarmUp + count);
  for (size_t i = 0; i < kWarmUp + count; ++i) {
    const auto start = Clock::now();
    round_trip();
    times.push_back((Clock::now() - start).count());
  }
  times.erase(times.begin(), times.begin() + kWarmUp);
  std::ranges::sort(times);
  return times;
}

template <class Peer>
std::vector<int64_t> MeasureRoundTrips(size_t count) {
  Peer client;
  Peer server;
  std::thread echo([&] {
    for (size_t i = 0; i < kWarmUp + count; ++i) {
      server.Receive();
      server.SendTo(client);
    }
  });
  auto times = TimeEach(count, [&] {
    client.SendTo(server);
    client.Receive();
  });
  echo.join();
  return times;
}

std::vector<int64_t> MeasureRoundTripsTo(const sockaddr_in& server, size_t count) {
  SocketPeer client(MakeAddress(INADDR_ANY, 0));
  return TimeEach(count, [&] {
    client.SendTo(server);
    client.Receive();
  });
}

[[noreturn]] void Echo(const char* own) {
  SocketPeer server(MakeAddress(inet_addr(own), kEchoPort));
  while (true) server.SendTo(server.Receive());
}

double MicrosecondsAt(const std::vector<int64_t>& sorted, double fraction) {
  const auto index = static_cast<size_t>(fraction * static_cast<double>(sorted.size() - 1));
  return static_cast<double>(sorted[index]) / 1e3;
}

void Print(const std::vector<int64_t>& sorted, bool json) {
  double total = 0;
  for (const int64_t time : sorted) total += static_cast<double>(time);
  const double per_second = static_cast<double>(sorted.size()) / (total / 1e9);
  const char* const format =
      json ? "{\"bytes\": %zu, \"round_trips\": %zu, \"round_trips_per_second\": %.0f, "
             "\"avg_us\": %.2f, \"p50_us\": %.2f, \"p90_us\": %.2f, \"p99_us\": %.2f, "
             "\"p999_us\": %.2f, \"min_us\": %.2f}\n"
           : "%zu bytes, %zu round trips: %.0f per second, average %.2f us; p50 %.2f us, "
             "p90 %.2f us, p99 %.2f us, p99.9 %.2f us; "
             "minimum %.2f us\n";
  std::printf(format, kBytes, sorted.size(), per_second, 1e6 / per_second,
              MicrosecondsAt(sorted, 0.5), MicrosecondsAt(sorted, 0.9),
              MicrosecondsAt(sorted, 0.99), MicrosecondsAt(sorted, 0.999),
              MicrosecondsAt(sorted, 0));
}

}  // namespace

int main(int argc, char** argv) {
  bool json = false;
  bool fabric = false;
  const char* to = nullptr;
  size_t count = 100'000;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument(argv[i]);
    if (argument == "--json") {
      json = true;
    } else if (argument == "--fabric") {
      fabric = true;
    } else if (argument == "--echo" && i + 1 < argc) {
      Echo(argv[++i]);
    } else if (argument == "--to" && i + 1 < argc) {
      to = argv[++i];
    } else if (argument == "--round-trips" && i + 1 < argc) {
      count = std::max(1UL, std::strtoul(argv[++i], nullptr, 10));
    } else {
      std::fprintf(stderr,
                   "usage: udp_floor [--json] [--fabric] [--round-trips N] [--to "
                   "IPV4-ADDRESS]\n       udp_floor --echo IPV4-ADDRESS\n");
      return 2;
    }
  }
  if (to != nullptr) {
    Print(MeasureRoundTripsTo(MakeAddress(inet_addr(to), kEchoPort), count), json);
    return 0;
  }
  Print(fabric ? MeasureRoundTrips<FabricPeer>(count) : MeasureRoundTrips<SocketPeer>(count), json);
  return 0;
}
