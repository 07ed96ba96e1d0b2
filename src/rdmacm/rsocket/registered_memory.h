#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "rdmacm/rsocket/errno.h"

namespace verbena::rsockets {

// Zeroed memory of whole pages, registered with a protection domain. Movable; a moved-from object
// is empty.
class RegisteredMemory {
 public:
  RegisteredMemory() = default;
  // `access`: IBV_ACCESS_* flags.
  [[nodiscard]] static ErrnoOr<RegisteredMemory> Make(ibv_pd* pd, std::size_t size, int access);
  RegisteredMemory(RegisteredMemory&& other) noexcept;
  RegisteredMemory& operator=(RegisteredMemory&& other) noexcept;
  ~RegisteredMemory();

  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
  [[nodiscard]] uint64_t address() const { return reinterpret_cast<uint64_t>(bytes_.data()); }
  [[nodiscard]] uint32_t lkey() const { return region_->lkey; }
  [[nodiscard]] uint32_t rkey() const { return region_->rkey; }

 private:
  std::span<std::byte> bytes_;
  ibv_mr* region_ = nullptr;
};

}  // namespace verbena::rsockets
