// Throughput of the UDP fabric alone between two processes over loopback, and the processor time of
// both per datagram. The receiver sends credits, so that no datagram is lost to a full buffer. An
// idle side sleeps, so that its processor time does not depend on other load.
//
//   fabric_stream [--json] [--plain] [--bytes N] [--seconds N]

#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/check.h"
#include "fabric/udp_fabric.h"

namespace {

using Clock = std::chrono::steady_clock;
using verbena::IpAddress;
using verbena::fabric::ReceivedDatagram;
using verbena::fabric::Route;
using verbena::fabric::UdpFabric;
using verbena::fabric::UdpFabricOptions;

constexpr IpAddress kLoopback = IpAddress::FromIpv4(127, 0, 0, 1);
constexpr uint64_t kWindow = 256;      // datagrams in flight at most
constexpr uint64_t kCreditEvery = 64;  // datagrams per credit
constexpr size_t kCreditBytes = sizeof(uint64_t);

struct Arguments {
  bool json = false;
  bool plain = false;
  size_t bytes = 4'096 + 12 + 4;
  long seconds = 3;
};

Arguments Parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument(argv[i]);
    if (argument == "--json") {
      arguments.json = true;
    } else if (argument == "--plain") {
      arguments.plain = true;
    } else if (argument == "--bytes" && i + 1 < argc) {
      arguments.bytes = std::strtoul(argv[++i], nullptr, 10);
    } else if (argument == "--seconds" && i + 1 < argc) {
      arguments.seconds = std::strtol(argv[++i], nullptr, 10);
    } else {
      std::fprintf(stderr, "usage: fabric_stream [--json] [--plain] [--bytes N] [--seconds N]\n");
      std::exit(2);
    }
  }
  CHECK(arguments.bytes > kCreditBytes);
  return arguments;
}

// False after a timeout.
bool WaitFor(const UdpFabric& fabric) {
  pollfd waited{.fd = fabric.fd(), .events = POLLIN, .revents = 0};
  return poll(&waited, 1, 100) == 1;
}

// Receives until a datagram of the size of a credit, which marks the end.
int RunReceiver(UdpFabric& fabric) {
  uint64_t received = 0;
  uint64_t granted = 0;
  while (true) {
    const auto datagrams = fabric.Receive();
    if (datagrams.empty()) (void)WaitFor(fabric);
    for (const ReceivedDatagram& datagram : datagrams) {
      if (datagram.bytes.size() == kCreditBytes) return 0;
      if (++received - granted < kCreditEvery) continue;
      const auto place = fabric.Reserve({.from = datagram.to, .to = datagram.from}, kCreditBytes);
      CHECK(place);
      granted = received;
      std::memcpy(place->bytes.data(), &granted, kCreditBytes);
    }
    fabric.Flush();
  }
}

// Sends; returns the number of datagrams that the receiver has received.
uint64_t RunSender(UdpFabric& fabric, const Route& route, const Arguments& arguments) {
  uint64_t sent = 0;
  uint64_t credited = 0;
  const auto end = Clock::now() + std::chrono::seconds(arguments.seconds);
  while (Clock::now() < end) {
    while (sent - credited < kWindow) {
      const auto place = fabric.Reserve(route, arguments.bytes);
      if (!place) break;
      std::memset(place->bytes.data(), static_cast<int>(sent), place->bytes.size());
      ++sent;
    }
    fabric.Flush();
    if (sent - credited >= kWindow && !WaitFor(fabric)) sent = credited;  // the others are lost
    for (const ReceivedDatagram& datagram : fabric.Receive()) {
      std::memcpy(&credited, datagram.bytes.data(), kCreditBytes);
    }
  }
  CHECK(fabric.Reserve(route, kCreditBytes));
  fabric.Flush();
  return credited;
}

double SecondsOf(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// Processor time of this process and of its child, which has ended.
double ProcessorSeconds() {
  double seconds = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    CHECK(getrusage(who, &usage) == 0);
    seconds += SecondsOf(usage.ru_utime) + SecondsOf(usage.ru_stime);
  }
  return seconds;
}

void Print(const UdpFabric& fabric, uint64_t received, const Arguments& arguments) {
  const auto seconds = static_cast<double>(arguments.seconds);
  const double per_second = static_cast<double>(received) / seconds;
  const double mebibytes = per_second * static_cast<double>(arguments.bytes) / (1 << 20);
  const auto& counters = fabric.transmit_counters();
  const double per_call =
      static_cast<double>(counters.datagrams) / static_cast<double>(counters.system_calls);
  const double processor_us = ProcessorSeconds() * 1e6 / static_cast<double>(received);
  std::printf(arguments.json
                  ? "{\"offloads\": %s, \"bytes\": %zu, \"datagrams_per_second\": %.0f, "
                    "\"mebibytes_per_second\": %.0f, \"processor_us_per_datagram\": %.3f, "
                    "\"datagrams_per_system_call\": %.1f}\n"
                  : "offloads %s, %zu bytes: %.0f datagrams and %.0f MiB per second, %.3f us of "
                    "processor time per datagram, %.1f datagrams per system call\n",
              arguments.plain ? "false" : "true", arguments.bytes, per_second, mebibytes,
              processor_us, per_call);
}

std::unique_ptr<UdpFabric> Open(const Arguments& arguments) {
  UdpFabricOptions options;
  options.endpoint.ports.first = 20'000;
  options.socket.offloads = !arguments.plain;
  auto fabric = UdpFabric::Open(options);
  if (!fabric) {
    std::fprintf(stderr, "%s\n", fabric.error().text.c_str());
    std::exit(1);
  }
  return std::move(*fabric);
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = Parse(argc, argv);
  const auto sender = Open(arguments);
  const auto receiver = Open(arguments);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) return RunReceiver(*receiver);
  const Route route{.from = kLoopback, .to = {kLoopback, receiver->port()}};
  const uint64_t received = RunSender(*sender, route, arguments);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  Print(*sender, received, arguments);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
