#include "rdmacm/rsocket/stream_options.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rdma/rsocket.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace verbena::rsockets {
namespace {

constexpr std::size_t kRouteMax = 4096;

// The requested size is doubled, as Linux does for SO_RCVBUF, and rounded to two halves of whole
// pages.
uint32_t BufferSize(int wanted) {
  constexpr int64_t kUnit = 8192;
  const int64_t doubled = std::clamp<int64_t>(int64_t{wanted} * 2, kBufferMin, kBufferMax);
  return static_cast<uint32_t>((doubled + kUnit - 1) / kUnit * kUnit);
}

uint16_t QueueSize(int wanted) {
  return static_cast<uint16_t>(std::clamp<int>(wanted, kQueueMin, kQueueMax));
}

}  // namespace

ErrnoOr<int> IntOf(std::span<const std::byte> value) {
  int number = 0;
  if (value.size() < sizeof number) return Fail(Errno{EINVAL});
  std::memcpy(&number, value.data(), sizeof number);
  return number;
}

ErrnoOr<socklen_t> PutInt(int number, std::span<std::byte> value) {
  const std::size_t size = std::min(sizeof number, value.size());
  std::memcpy(value.data(), &number, size);
  return static_cast<socklen_t>(size);
}

ErrnoOr<void> StreamOptions::Set(int level, int name, std::span<const std::byte> value,
                                 bool fixed) {
  if (level == SOL_SOCKET) return SetSocket(name, value, fixed);
  if (level == SOL_RDMA) {
    if (fixed) return Fail(Errno{EINVAL});
    return SetRdma(name, value);
  }
  const auto number = IntOf(value);
  if (!number) return Fail(number.error());
  if (level == IPPROTO_TCP) return SetTcp(name, *number);
  if (level == IPPROTO_IPV6 && name == IPV6_V6ONLY) {
    ipv6_only = *number != 0;
    return {};
  }
  return Fail(Errno{ENOPROTOOPT});
}

ErrnoOr<void> StreamOptions::SetSocket(int name, std::span<const std::byte> value, bool fixed) {
  const auto number = IntOf(value);
  if (!number) return Fail(number.error());
  switch (name) {
    case SO_REUSEADDR:
      reuse_address = *number != 0;
      return {};
    case SO_KEEPALIVE:
      keepalive = *number != 0;
      return {};
    case SO_OOBINLINE:
      oob_inline = *number != 0;
      return {};
    case SO_RCVBUF:
      if (!fixed) sizes.receive_buffer = BufferSize(*number);
      return {};
    case SO_SNDBUF:
      if (!fixed) sizes.send_buffer = BufferSize(*number);
      return {};
    case SO_LINGER:
      if (value.size() < sizeof close_wait) return Fail(Errno{EINVAL});
      std::memcpy(&close_wait, value.data(), sizeof close_wait);
      return {};
    default:
      return Fail(Errno{ENOPROTOOPT});
  }
}

ErrnoOr<void> StreamOptions::SetTcp(int name, int value) {
  switch (name) {
    case TCP_NODELAY:
      no_delay = value != 0;
      return {};
    case TCP_MAXSEG:
      return {};  // the path determines the MTU
    case TCP_KEEPIDLE:
    case TCP_KEEPINTVL:
    case TCP_KEEPCNT: {
      if (value <= 0) return Fail(Errno{EINVAL});
      int& option = name == TCP_KEEPIDLE    ? keepalive_idle
                    : name == TCP_KEEPINTVL ? keepalive_interval
                                            : keepalive_count;
      option = value;
      return {};
    }
    default:
      return Fail(Errno{ENOPROTOOPT});
  }
}

ErrnoOr<void> StreamOptions::SetRdma(int name, std::span<const std::byte> value) {
  if (name == RDMA_ROUTE) {
    if (value.empty() || value.size() > kRouteMax) return Fail(Errno{EINVAL});
    route.assign(value.begin(), value.end());
    return {};
  }
  const auto number = IntOf(value);
  if (!number || *number < 0) return Fail(Errno{EINVAL});
  switch (name) {
    case RDMA_SQSIZE:
      sizes.send_queue = QueueSize(*number);
      return {};
    case RDMA_RQSIZE:
      sizes.receive_queue = QueueSize(*number);
      return {};
    case RDMA_INLINE:
      sizes.inline_max = static_cast<uint16_t>(std::min<int>(*number, kInlineMax));
      return {};
    case RDMA_IOMAPSIZE:
      sizes.iomap_size = UnscaleIomapSize(
          ScaleIomapSize(static_cast<uint16_t>(std::min<int>(*number, kIomapMax))));
      return {};
    default:
      return Fail(Errno{ENOPROTOOPT});
  }
}

namespace {

std::optional<int> SocketOption(const StreamOptions& options, int name) {
  switch (name) {
    case SO_REUSEADDR:
      return options.reuse_address;
    case SO_KEEPALIVE:
      return options.keepalive;
    case SO_OOBINLINE:
      return options.oob_inline;
    case SO_RCVBUF:
      return static_cast<int>(options.sizes.receive_buffer);
    case SO_SNDBUF:
      return static_cast<int>(options.sizes.send_buffer);
    case SO_TYPE:
      return SOCK_STREAM;
    default:
      return std::nullopt;
  }
}

std::optional<int> TcpOption(const StreamOptions& options, int name) {
  switch (name) {
    case TCP_NODELAY:
      return options.no_delay;
    case TCP_KEEPIDLE:
      return options.keepalive_idle;
    case TCP_KEEPINTVL:
      return options.keepalive_interval;
    case TCP_KEEPCNT:
      return options.keepalive_count;
    default:
      return std::nullopt;
  }
}

std::optional<int> RdmaOption(const StreamOptions& options, int name) {
  switch (name) {
    case RDMA_SQSIZE:
      return options.sizes.send_queue;
    case RDMA_RQSIZE:
      return options.sizes.receive_queue;
    case RDMA_INLINE:
      return options.sizes.inline_max;
    case RDMA_IOMAPSIZE:
      return options.sizes.iomap_size;
    default:
      return std::nullopt;
  }
}

}  // namespace

ErrnoOr<socklen_t> StreamOptions::Get(int level, int name, std::span<std::byte> value) const {
  if (level == SOL_SOCKET && name == SO_LINGER) {
    const std::size_t size = std::min(sizeof close_wait, value.size());
    std::memcpy(value.data(), &close_wait, size);
    return static_cast<socklen_t>(size);
  }
  std::optional<int> number;
  if (level == SOL_SOCKET) number = SocketOption(*this, name);
  if (level == IPPROTO_TCP) number = TcpOption(*this, name);
  if (level == IPPROTO_IPV6 && name == IPV6_V6ONLY) number = ipv6_only;
  if (level == SOL_RDMA) number = RdmaOption(*this, name);
  if (!number) return Fail(Errno{ENOPROTOOPT});
  return PutInt(*number, value);
}

}  // namespace verbena::rsockets
