#include "fabric/endpoints.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/random.h"

namespace verbena::fabric {
namespace {

// Enough if half of the endpoints are taken; after that all are tried in order.
constexpr int kRandomTries = 32;

using Claim = ErrorOr<std::optional<EndpointId>>;

// nullopt if the port is taken. Any other error would occur with the next port, too.
Claim Try(UdpSocket& socket, const EndpointOptions& options, uint64_t number) {
  const EndpointId id(static_cast<uint16_t>(number));
  auto bound = socket.Bind(options.ports.PortOf(id));
  if (bound) return id;
  if (bound.error().os_error != EADDRINUSE) return Fail(std::move(bound.error()));
  return std::nullopt;
}

Claim TryRange(UdpSocket& socket, const EndpointOptions& options, uint64_t begin, uint64_t end) {
  for (uint64_t number = begin; number < end; ++number) {
    auto claimed = Try(socket, options, number);
    if (!claimed || *claimed) return claimed;
  }
  return std::nullopt;
}

// Any endpoint except those for multicast.
Claim TryRandom(UdpSocket& socket, const EndpointOptions& options) {
  const uint64_t begin = std::min(options.multicast, options.count);
  const uint64_t end = options.count;
  if (begin == end) return std::nullopt;
  Random random(options.seed);
  for (int i = 0; i < kRandomTries; ++i) {
    auto claimed = Try(socket, options, begin + random.Below(end - begin));
    if (!claimed || *claimed) return claimed;
  }
  const uint64_t middle = begin + random.Below(end - begin);
  auto claimed = TryRange(socket, options, middle, end);
  if (!claimed || *claimed) return claimed;
  return TryRange(socket, options, begin, middle);
}

Claim TryFor(UdpSocket& socket, const EndpointOptions& options) {
  if (options.strict) return Try(socket, options, 0);
  switch (options.use) {
    case EndpointUse::kFirst: {
      auto claimed = Try(socket, options, 0);
      if (!claimed || *claimed) return claimed;
      return TryRandom(socket, options);
    }
    case EndpointUse::kMore:
      return TryRandom(socket, options);
    case EndpointUse::kMulticast:
      return TryRange(socket, options, 0, std::min(options.multicast, options.count));
  }
  UNREACHABLE();
}

// "4791, 61001 to 61007" for endpoints 0 to 7.
std::string PortsInWords(const EndpointOptions& options, uint32_t begin, uint32_t end) {
  const auto port = [&](uint32_t number) {
    return std::to_string(options.ports.PortOf(EndpointId(static_cast<uint16_t>(number))));
  };
  const uint32_t second = std::max(begin, 1U);
  std::string words = begin == 0 ? port(0) : "";
  if (second >= end) return words;
  if (!words.empty()) words += ", ";
  words += port(second);
  return second + 1 == end ? words : words + " to " + port(end - 1);
}

Error StrictError(const EndpointOptions& options) {
  const std::string port = std::to_string(options.ports.first);
  return SystemError(
      EADDRINUSE,
      "UDP port " + port +
          " is taken by another process, or by the kernel's Soft-RoCE (module rdma_rxe), "
          "and strict mode allows no other; end it (ss -ulnp sport = :" +
          port + " names it), or turn strict mode off to use another port");
}

Error MulticastError(const EndpointOptions& options) {
  const uint32_t count = std::min(options.multicast, options.count);
  return {ErrorCode::kLimit,
          "all " + std::to_string(count) +
              " endpoints that hear multicast datagrams are taken (UDP ports " +
              PortsInWords(options, 0, count) +
              "): so many processes of a machine can be in groups (Options::"
              "multicast_endpoints); end one of them (ss -ulnp names them)",
          kNoEndpointLeft};
}

Error TakenError(const EndpointOptions& options) {
  const uint32_t begin = std::min(options.multicast, options.count);
  return {ErrorCode::kLimit,
          "all " + std::to_string(1 + options.count - begin) +
              " endpoints of this machine are taken (UDP ports " + PortsInWords(options, 0, 1) +
              " and " + PortsInWords(options, begin, options.count) +
              "): a process that has the device open has one, and one more for each 3,072 "
              "queue pairs; end some of them (ss -ulnp names them)",
          kNoEndpointLeft};
}

Error ErrorFor(const EndpointOptions& options) {
  if (options.strict) return StrictError(options);
  if (options.use == EndpointUse::kMulticast) return MulticastError(options);
  return TakenError(options);
}

}  // namespace

ErrorOr<EndpointId> ClaimEndpoint(UdpSocket& socket, const EndpointOptions& options) {
  CHECK(options.count >= 1 && options.count <= kEndpointsMax && options.multicast >= 1);
  CHECK(options.ports.others + options.count - 1 <= UINT16_MAX);
  auto claimed = TryFor(socket, options);
  if (!claimed) return Fail(std::move(claimed.error()));
  if (!*claimed) return Fail(ErrorFor(options));
  return **claimed;
}

}  // namespace verbena::fabric
