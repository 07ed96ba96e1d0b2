#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "adapter/cm/name_lock.h"
#include "adapter/cm/port_request.h"
#include "base/error.h"

namespace verbena::adapter {

class PortRegistry;

// A port of the connection manager that this process has bound, on one address or on all. The port
// is free again when the claim is destroyed, or when the process has ended in any way.
//
// Made by PortRegistry::Claim, which outlives it. Movable; a moved-from claim is empty. One thread
// at a time, the same as for the PortRegistry.
class PortClaim {
 public:
  PortClaim() = default;
  PortClaim(PortClaim&& other) noexcept
      : space_(std::exchange(other.space_, nullptr)),
        request_(other.request_),
        locks_(std::move(other.locks_)) {}
  PortClaim& operator=(PortClaim&& other) noexcept {
    std::swap(space_, other.space_);
    std::swap(request_, other.request_);
    std::swap(locks_, other.locks_);
    return *this;
  }
  ~PortClaim();

  [[nodiscard]] bool is_empty() const { return space_ == nullptr; }
  [[nodiscard]] uint16_t port() const { return request_.port; }
  // With the assigned port, and without reuse_address after MakeExclusive.
  [[nodiscard]] const PortRequest& request() const { return request_; }

  // Needed by a listener, as in the kernel (rdma_listen): from now on no other bind can share the
  // port, and forwarded datagrams arrive. No effect if the claim is already exclusive, as it is
  // without reuse_address. EADDRINUSE if another bind shares the port.
  [[nodiscard]] ErrorOr<void> MakeExclusive();

 private:
  friend class PortRegistry;
  PortClaim(PortRegistry& space, const PortRequest& request, std::vector<NameLock> locks)
      : space_(&space), request_(request), locks_(std::move(locks)) {}

  PortRegistry* space_ = nullptr;
  PortRequest request_{};
  std::vector<NameLock> locks_;  // empty for a port of an own block
};

}  // namespace verbena::adapter
