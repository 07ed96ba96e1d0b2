#pragma once

#include <memory>
#include <utility>

#include "verbena/error.h"
#include "verbena/gid.h"
#include "verbena/handle.h"
#include "verbena/numbers.h"
#include "verbena/protection_domain.h"

namespace verbena {

namespace verbs {
struct AddressHandleObject;
}

// The destination of datagrams: a path and its MTU. Datagrams that are posted but not yet sent when
// it is destroyed may be lost.
class AddressHandle : public Handle<verbs::AddressHandleObject> {
 public:
  // A datagram that is longer than the MTU of the path, or than `port_mtu`, completes with a local
  // length error.
  [[nodiscard]] static ErrorOr<AddressHandle> Create(const ProtectionDomain& domain,
                                                     const AddressVector& way,
                                                     PathMtu port_mtu = PathMtu::k4096);
  AddressHandle() = default;

  [[nodiscard]] ErrorOr<void> Destroy();

  [[nodiscard]] AddressHandleId id() const;

 private:
  explicit AddressHandle(std::shared_ptr<verbs::AddressHandleObject> object)
      : Handle(std::move(object)) {}
};

}  // namespace verbena
