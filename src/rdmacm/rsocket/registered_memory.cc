#include "rdmacm/rsocket/registered_memory.h"

#include <sys/mman.h>

#include <utility>

namespace verbena::rsockets {

ErrnoOr<RegisteredMemory> RegisteredMemory::Make(ibv_pd* pd, std::size_t size, int access) {
  // Whole pages, because with fork support a child does not get registered pages.
  void* const place =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) return Fail(LastErrno());
  RegisteredMemory memory;
  memory.bytes_ = {static_cast<std::byte*>(place), size};
  memory.region_ = ibv_reg_mr(pd, place, size, access);
  if (memory.region_ == nullptr) return Fail(LastErrno());
  return memory;
}

RegisteredMemory::RegisteredMemory(RegisteredMemory&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})), region_(std::exchange(other.region_, nullptr)) {}

RegisteredMemory& RegisteredMemory::operator=(RegisteredMemory&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(region_, other.region_);
  return *this;
}

RegisteredMemory::~RegisteredMemory() {
  if (region_ != nullptr) ibv_dereg_mr(region_);
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

}  // namespace verbena::rsockets
