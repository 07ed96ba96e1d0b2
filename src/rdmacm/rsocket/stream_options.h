#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rdmacm/rsocket/errno.h"
#include "rdmacm/rsocket/stream_endpoint.h"

namespace verbena::rsockets {

// The options of a stream socket that are plain values: Get returns what Set stored. An accepted
// connection starts with those of its listener. A value type.
struct StreamOptions {
  StreamSizes sizes{};
  bool reuse_address = false;
  bool keepalive = false;
  bool oob_inline = false;
  bool no_delay = false;
  bool ipv6_only = false;
  linger close_wait{};
  int keepalive_idle = kKeepaliveIdleSeconds;
  int keepalive_interval = 75;  // stored only; the queue pair has its own retries
  int keepalive_count = 9;
  std::vector<std::byte> route;  // RDMA_ROUTE: struct ibv_path_data[]

  // `fixed`: the queue pair with these sizes exists, or is being made. ENOPROTOOPT for an option
  // that rsockets do not have, EINVAL for a bad value.
  [[nodiscard]] ErrnoOr<void> Set(int level, int name, std::span<const std::byte> value,
                                  bool fixed);
  // Writes to the front of `value`, and returns the length.
  [[nodiscard]] ErrnoOr<socklen_t> Get(int level, int name, std::span<std::byte> value) const;

 private:
  [[nodiscard]] ErrnoOr<void> SetSocket(int name, std::span<const std::byte> value, bool fixed);
  [[nodiscard]] ErrnoOr<void> SetTcp(int name, int value);
  [[nodiscard]] ErrnoOr<void> SetRdma(int name, std::span<const std::byte> value);
};

// Converts between an option's value and a number. EINVAL if there is no room.
[[nodiscard]] ErrnoOr<int> IntOf(std::span<const std::byte> value);
[[nodiscard]] ErrnoOr<socklen_t> PutInt(int number, std::span<std::byte> value);

}  // namespace verbena::rsockets
