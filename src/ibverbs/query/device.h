#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>

namespace verbena::ibverbs {

// The device that programs are shown. Providers of other devices, which some programs link, look
// behind the structure of a device, and must find zeros.
struct Device : ibv_device {
  std::array<std::byte, 512> zeros{};
};

// The only one. Programs compare its address, and keep it after they freed the list that they had
// it from.
[[nodiscard]] Device& TheDevice();

// In network byte order. It is the machine's, as far as the network can tell it from others, and
// stays while the process lives.
[[nodiscard]] __be64 NodeGuid();

// Who made it, and what it is called: the part of its attributes that no limit changes.
void FillIdentity(ibv_device_attr& out);

}  // namespace verbena::ibverbs
