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

// A way that datagrams go. Datagrams that are posted when it ends may be lost.
class AddressHandle : public Handle<verbs::AddressHandleObject> {
 public:
  // Datagrams are no longer than the way takes, and than `port_mtu`; others end with a local length
  // error.
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
