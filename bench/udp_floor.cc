// What a round trip over UDP costs on this machine when nothing is done but that: two threads, a
// plain socket each, busy polling. The floor under every latency that the adapter can have. With
// --fabric the same through UdpFabric, to see what that adds.
//
//   udp_floor [--json] [--fabric] [--round-trips N]

#include <arpa/inet.h>
#include <netinet/in.h>
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
using verbena::fabric::FileDescriptor;
using verbena::fabric::IpAddress;
using verbena::fabric::UdpFabric;

constexpr size_t kBytes = 64;
constexpr size_t kWarmUp = 1'000;

// A socket on a port of loopback that the system chooses.
class SocketPeer {
 public:
  SocketPeer() : socket_(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address_);
    CHECK(bind(socket_.get(), generic(), size) == 0);
    CHECK(getsockname(socket_.get(), generic(), &size) == 0);
  }

  void SendTo(SocketPeer& other) {
    CHECK(sendto(socket_.get(), bytes_.data(), kBytes, 0, other.generic(), sizeof(address_)) ==
          kBytes);
  }
  void Receive() {
    while (recvfrom(socket_.get(), bytes_.data(), kBytes, 0, nullptr, nullptr) < 0) {
      CHECK(errno == EAGAIN);
    }
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
    auto fabric = UdpFabric::Open({.slots = {.base_port = 20'000}});
    CHECK(fabric);
    fabric_ = std::move(*fabric);
  }

  void SendTo(FabricPeer& other) {
    constexpr IpAddress kLoopback = IpAddress::FromIpv4(127, 0, 0, 1);
    CHECK(fabric_->Reserve({.from = kLoopback, .to = {kLoopback, other.fabric_->port()}}, kBytes));
    CHECK(fabric_->Flush() == UdpFabric::FlushResult::kDone);
  }
  void Receive() {
    while (fabric_->Receive().empty()) {
    }
  }

 private:
  std::unique_ptr<UdpFabric> fabric_;
};

// In nanoseconds, sorted.
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
  std::vector<int64_t> times;
  times.reserve(kWarmUp + count);
  for (size_t i = 0; i < kWarmUp + count; ++i) {
    const auto start = Clock::now();
    client.SendTo(server);
    client.Receive();
    times.push_back((Clock::now() - start).count());
  }
  echo.join();
  times.erase(times.begin(), times.begin() + kWarmUp);
  std::ranges::sort(times);
  return times;
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
             "\"p50_us\": %.2f, \"p90_us\": %.2f, \"p99_us\": %.2f, \"p999_us\": %.2f, "
             "\"min_us\": %.2f}\n"
           : "%zu bytes, %zu round trips: %.0f a second; half of them within %.2f us, 90 %% within "
             "%.2f us, 99 %% within %.2f us, 99.9 %% within %.2f us; shortest %.2f us\n";
  std::printf(format, kBytes, sorted.size(), per_second, MicrosecondsAt(sorted, 0.5),
              MicrosecondsAt(sorted, 0.9), MicrosecondsAt(sorted, 0.99),
              MicrosecondsAt(sorted, 0.999), MicrosecondsAt(sorted, 0));
}

}  // namespace

int main(int argc, char** argv) {
  bool json = false;
  bool fabric = false;
  size_t count = 100'000;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument(argv[i]);
    if (argument == "--json") {
      json = true;
    } else if (argument == "--fabric") {
      fabric = true;
    } else if (argument == "--round-trips" && i + 1 < argc) {
      count = std::max(1UL, std::strtoul(argv[++i], nullptr, 10));
    } else {
      std::fprintf(stderr, "usage: udp_floor [--json] [--fabric] [--round-trips N]\n");
      return 2;
    }
  }
  Print(fabric ? MeasureRoundTrips<FabricPeer>(count) : MeasureRoundTrips<SocketPeer>(count), json);
  return 0;
}
