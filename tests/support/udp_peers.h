#pragma once

#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/udp_fabric.h"
#include "tests/support/test_ports.h"

namespace verbena::fabric {

inline EndpointOptions TestEndpoints() {
  constexpr uint16_t kCount = 64;
  return {.ports = {.first = kFirstTestPort, .others = kFirstTestPort}, .count = kCount};
}

inline UdpFabricOptions TestOptions() {
  UdpFabricOptions options;
  options.endpoint = TestEndpoints();
  return options;
}

// Opens a fabric that reports the headers of received datagrams.
inline std::unique_ptr<UdpFabric> OpenOrDie(const UdpFabricOptions& options) {
  auto fabric = UdpFabric::Open(options);
  if (!fabric) ADD_FAILURE() << fabric.error().text;
  (*fabric)->ReportHeaders();
  return std::move(fabric).value();
}

// A datagram of `size` bytes whose contents depend on `seed`.
inline std::vector<std::byte> TestBytes(size_t size, size_t seed) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(seed * 131 + i * 7 + i / 256);
  return bytes;
}

// Writes a datagram into the batch; returns the IP identification that it gets.
inline std::optional<uint16_t> Stage(UdpFabric& fabric, const Route& route,
                                     const std::vector<std::byte>& bytes) {
  const auto place = fabric.Reserve(route, bytes.size());
  if (!place) return std::nullopt;
  std::copy(bytes.begin(), bytes.end(), place->bytes.begin());
  return place->ip_id;
}

inline bool IsReady(int fd, short events, std::chrono::milliseconds timeout) {
  pollfd waited{.fd = fd, .events = events, .revents = 0};
  return poll(&waited, 1, static_cast<int>(timeout.count())) == 1;
}

// A received datagram with a copy of its bytes, which stays valid after the burst.
struct Received {
  ReceivedDatagram datagram;
  std::vector<std::byte> bytes;
};

// Receives `count` datagrams, or fewer if none arrives for two seconds.
inline std::vector<Received> ReceiveAll(UdpFabric& fabric, size_t count) {
  std::vector<Received> all;
  while (all.size() < count && IsReady(fabric.fd(), POLLIN, std::chrono::seconds(2))) {
    for (const ReceivedDatagram& datagram : fabric.Receive()) {
      all.push_back({datagram, {datagram.bytes.begin(), datagram.bytes.end()}});
    }
  }
  return all;
}

}  // namespace verbena::fabric
