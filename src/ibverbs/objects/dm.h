#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "ibverbs/objects/objects.h"

namespace verbena::ibverbs {

// What the device says that it has, of each context.
inline constexpr uint64_t kDeviceMemoryMax = uint64_t{1} << 20;
// Of the logarithm of an alignment: a page.
inline constexpr uint32_t kDeviceMemoryAlignMax = 12;

// Some of the device's memory, until all that were given it have given it back.
class DeviceMemory {
 public:
  // None yet; what it takes is counted in `used`.
  explicit DeviceMemory(std::shared_ptr<std::atomic<uint64_t>> used) : used_(std::move(used)) {}
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { *used_ -= length_; }

  // False if the device has no more of it. REQUIRES: it has none yet.
  [[nodiscard]] bool Take(uint64_t length);

  [[nodiscard]] std::byte* bytes() const { return bytes_.get(); }

 private:
  struct Free {
    void operator()(std::byte* pages) const;
  };

  const std::shared_ptr<std::atomic<uint64_t>> used_;
  uint64_t length_ = 0;
  std::unique_ptr<std::byte, Free> bytes_;
};

// As the other objects.
struct Dm : ibv_dm {
  std::shared_ptr<DeviceMemory> memory;  // shared with those that imported it
  uint64_t length = 0;
  std::atomic<uint32_t> users = 0;  // regions
  HandleTable<Dm>::Entry entry = {};
};

[[nodiscard]] inline Dm& Cast(ibv_dm* dm) { return *static_cast<Dm*>(dm); }

// --- What a context's operations point to. ---

ibv_dm* AllocateDm(ibv_context* context, ibv_alloc_dm_attr* attributes);
int FreeDm(ibv_dm* dm) noexcept;
ibv_mr* RegisterDm(ibv_pd* pd, ibv_dm* dm, uint64_t offset, size_t length, unsigned flags);

}  // namespace verbena::ibverbs
