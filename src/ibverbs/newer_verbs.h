#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

namespace verbena::ibverbs {

// Calls that rdma-core added in release 59 and later. The headers that Verbena is built with may or
// may not declare them. So they have C++ names of their own here, and the names of the verbs only
// as symbols: no declaration clashes with one in the headers.

// Bits of ibv_mr_init_attr::comp_mask: which of the fields after it are valid.
enum class MrInitMask : uint64_t {
  kIova = 1 << 0,
  kAddress = 1 << 1,
  kFd = 1 << 2,
  kFdOffset = 1 << 3,
  kDmah = 1 << 4,
  kBuffer = 1 << 5,  // since 64
};

struct Buffer;

// The layout of ibv_mr_init_attr. In programs built before release 64 it ends before `buffer`.
struct MrInitAttributes {
  size_t length = 0;
  int access = 0;
  uint64_t comp_mask = 0;
  uint64_t iova = 0;
  void* address = nullptr;
  int fd = -1;
  uint64_t fd_offset = 0;
  void* dmah = nullptr;
  Buffer* buffer = nullptr;

  [[nodiscard]] bool Has(MrInitMask bit) const {
    return (comp_mask & static_cast<uint64_t>(bit)) != 0;
  }
};

extern "C" {
// IBVERBS_1.15
ibv_mr* RegisterMrEx(ibv_pd* pd, const MrInitAttributes* attributes) __asm__("ibv_reg_mr_ex");
// IBVERBS_1.16: in units of 100 Mbit/s.
int QueryPortSpeed(ibv_context* context, uint32_t port,
                   uint64_t* speed) __asm__("ibv_query_port_speed");
// IBVERBS_1.17: memory for messages, allocated as it suits the device.
void* AllocateBuffer(ibv_pd* pd, size_t size, Buffer** buffer) __asm__("ibv_alloc_buf");
void FreeBuffer(Buffer* buffer) noexcept __asm__("ibv_free_buf");
ibv_mr* RegisterBuffer(ibv_pd* pd, Buffer* buffer, void* address, size_t length,
                       int access) __asm__("ibv_reg_buf_mr");
}

}  // namespace verbena::ibverbs
