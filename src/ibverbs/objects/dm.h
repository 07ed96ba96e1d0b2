#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "ibverbs/objects/objects.h"

namespace verbena::ibverbs {

// Bytes of device memory that each context has: max_dm_size of ibv_query_device_ex.
inline constexpr uint64_t kDeviceMemoryMax = uint64_t{1} << 20;
// The largest log_align_req: a page.
inline constexpr uint32_t kDeviceMemoryAlignMax = 12;

// One allocation of device memory. Shared by the Dm that allocated it and the Dms that imported it,
// and freed with the last of them.
class DeviceMemory {
 public:
  // Empty. Take counts its bytes in `used`, and the destructor subtracts them.
  explicit DeviceMemory(std::shared_ptr<std::atomic<uint64_t>> used) : used_(std::move(used)) {}
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { *used_ -= length_; }

  // Allocates `length` bytes of zeros. False if the context has not so much device memory left.
  // REQUIRES: empty.
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

// Owned by the program, as the objects of objects.h are; the same thread rule.
struct Dm : ibv_dm {
  std::shared_ptr<DeviceMemory> memory;  // shared with the Dms that imported it
  uint64_t length = 0;
  Users users;                        // regions registered on it
  HandleTable<Dm>::Entry entry = {};  // by which it can be imported; ends first
};

[[nodiscard]] inline Dm& Cast(ibv_dm* dm) { return *static_cast<Dm*>(dm); }

// --- The functions that a context's operations point to. ---

ibv_dm* AllocateDm(ibv_context* context, ibv_alloc_dm_attr* attributes);
int FreeDm(ibv_dm* dm) noexcept;
ibv_mr* RegisterDm(ibv_pd* pd, ibv_dm* dm, uint64_t offset, size_t length, unsigned flags);

}  // namespace verbena::ibverbs
