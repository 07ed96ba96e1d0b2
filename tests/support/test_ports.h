#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace verbena::testing_ports {

// Blocks of ports between the well-known ones and the ephemeral ones (32,768 and above), which the
// kernel assigns to any socket that does not bind to a port.
inline constexpr unsigned kFirstPort = 10'000;
inline constexpr unsigned kPortsPerBlock = 256;
inline constexpr unsigned kBlocks = (32'768 - kFirstPort) / kPortsPerBlock;

// Claims the block for this process, by a socket with an abstract name: only one process of the
// network namespace can have a name at a time. The kernel frees the name when the process and its
// children have ended.
inline bool ClaimBlock(unsigned block) {
  const int claim = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (claim < 0) return false;
  const std::string name = "verbena test ports " + std::to_string(block);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (bind(claim, reinterpret_cast<const sockaddr*>(&address), size) == 0) return true;
  close(claim);
  return false;
}

inline uint16_t ClaimPorts() {
  const auto start = static_cast<unsigned>(getpid());
  for (unsigned i = 0; i < kBlocks; ++i) {
    const unsigned block = (start + i) % kBlocks;
    if (ClaimBlock(block)) return static_cast<uint16_t>(kFirstPort + block * kPortsPerBlock);
  }
  std::fputs("no free block of test ports between 10000 and 32767\n", stderr);
  std::abort();
}

}  // namespace verbena::testing_ports

namespace verbena {

inline constexpr unsigned kTestPorts = testing_ports::kPortsPerBlock;

// The first of the ports that only this test program and its children use. Claimed before main, so
// that tests that count descriptors see the same number before and after.
inline const uint16_t kFirstTestPort = testing_ports::ClaimPorts();

}  // namespace verbena
