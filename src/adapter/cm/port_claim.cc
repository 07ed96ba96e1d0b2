#include "adapter/cm/port_claim.h"

#include "adapter/cm/port_registry.h"
#include "base/check.h"

namespace verbena::adapter {

PortClaim::~PortClaim() {
  if (space_ != nullptr) space_->Release(*this);
}

ErrorOr<void> PortClaim::MakeExclusive() {
  CHECK(space_ != nullptr);
  if (!request_.reuse_address) return {};
  return space_->MakeExclusive(*this);
}

}  // namespace verbena::adapter
