#include "ibverbs/query/device.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "ibverbs/failure.h"
#include "ibverbs/query/device_tree_source.h"
#include "ibverbs/settings.h"
#include "verbena/context.h"

namespace verbena::ibverbs {
namespace {

template <size_t kSize>
void Fill(char (&field)[kSize], std::string_view text) {
  static_assert(kSize > 1);
  std::memcpy(field, text.data(), std::min(text.size(), kSize - 1));
}

IbvDevice MakeDevice(TransportType transport, size_t index) {
  const bool is_iwarp = IsIwarp(transport);
  const std::string_view name = is_iwarp ? "verbena_iw0" : "verbena0";
  IbvDevice device{};
  device.transport = transport;
  device.node_type = is_iwarp ? IBV_NODE_RNIC : IBV_NODE_CA;
  device.transport_type = is_iwarp ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
  Fill(device.name, name);
  const std::string file = "uverbs" + std::to_string(index);
  Fill(device.dev_name, file);
  // Programs read more about the device below these paths: see device_tree.h.
  Fill(device.dev_path, "/sys/class/infiniband_verbs/" + file);
  Fill(device.ibdev_path, "/sys/class/infiniband/" + std::string(name));
  return device;
}

// FNV-1a.
uint64_t Hash(uint64_t hash, std::string_view bytes) {
  constexpr uint64_t kPrime = 0x100000001B3;
  for (const char byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * kPrime;
  return hash;
}

uint64_t MakeGuid() {
  constexpr uint64_t kBasis = 0xCBF29CE484222325;
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  uint64_t hash = Hash(kBasis, host.data());
  const auto gids = verbena::Context::Gids();
  if (gids && !gids->empty()) {
    const Gid& first = gids->front().gid;
    hash = Hash(hash, {reinterpret_cast<const char*>(first.bytes.data()), first.bytes.size()});
  }
  // EUI-64: locally administered, and not a group.
  constexpr uint64_t kLocal = uint64_t{2} << 56;
  constexpr uint64_t kGroup = uint64_t{1} << 56;
  return (hash & ~kGroup) | kLocal;
}

}  // namespace

std::vector<IbvDevice> MakeDevices(std::span<const TransportType> transports) {
  std::vector<IbvDevice> devices;
  for (const TransportType transport : transports) {
    devices.push_back(MakeDevice(transport, devices.size()));
  }
  return devices;
}

std::span<IbvDevice> TheDevices() {
  static std::vector<IbvDevice>& devices =
      *new std::vector<IbvDevice>(MakeDevices(TransportsFromEnvironment()));
  return devices;
}

__be64 NodeGuid(TransportType transport) {
  static_assert(std::endian::native == std::endian::little);
  static const uint64_t guid = MakeGuid();
  return __builtin_bswap64(IsIwarp(transport) ? guid ^ 1 : guid);
}

}  // namespace verbena::ibverbs

using namespace verbena::ibverbs;  // NOLINT(google-build-using-namespace): the verbs are global

ibv_device** ibv_get_device_list(int* count) try {
  OfferDeviceFiles();
  const std::span<IbvDevice> devices = TheDevices();
  auto** const list = new ibv_device* [devices.size() + 1] {};
  std::ranges::transform(devices, list, [](IbvDevice& device) { return &device; });
  if (count != nullptr) *count = static_cast<int>(devices.size());
  return list;
} catch (...) {
  return ThrownNull("ibv_get_device_list");
}

void ibv_free_device_list(ibv_device** list) { delete[] list; }

const char* ibv_get_device_name(ibv_device* device) { return device->name; }

__be64 ibv_get_device_guid(ibv_device* device) try {
  return NodeGuid(TransportOf(*device));
} catch (...) {
  errno = Thrown("ibv_get_device_guid");
  return 0;
}

int ibv_get_device_index(ibv_device* device) {
  return static_cast<int>(static_cast<IbvDevice*>(device) - TheDevices().data());
}
