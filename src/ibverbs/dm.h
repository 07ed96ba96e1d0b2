#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "ibverbs/objects.h"

namespace verbena::ibverbs {

// What the device says that it has, of each context.
inline constexpr uint64_t kDeviceMemoryMax = uint64_t{1} << 20;
// Of the logarithm of an alignment: a page.
inline constexpr uint32_t kDeviceMemoryAlignMax = 12;

// Some of the device's memory, until all that were given it have given it back.
class DeviceMemory {
 public:
  // REQUIRES: `length` is counted in `used` already.
  DeviceMemory(uint64_t length, std::shared_ptr<std::atomic<uint64_t>> used);
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory();

  [[nodiscard]] std::byte* bytes() const { return bytes_; }

 private:
  const uint64_t length_;
  const std::shared_ptr<std::atomic<uint64_t>> used_;
  std::byte* const bytes_;
};

// As the other objects.
struct Dm : ibv_dm {
  std::shared_ptr<DeviceMemory> memory;  // shared with those that imported it
  uint64_t length = 0;
  std::atomic<uint32_t> users = 0;  // regions
};

[[nodiscard]] inline Dm& Own(ibv_dm* dm) { return *static_cast<Dm*>(dm); }

// --- What a context's operations point to. ---

ibv_dm* AllocateDm(ibv_context* context, ibv_alloc_dm_attr* attributes);
int FreeDm(ibv_dm* dm);
ibv_mr* RegisterDm(ibv_pd* pd, ibv_dm* dm, uint64_t offset, size_t length, unsigned flags);

}  // namespace verbena::ibverbs
