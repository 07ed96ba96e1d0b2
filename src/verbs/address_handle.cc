#include "verbena/address_handle.h"

#include "verbs/convert.h"
#include "verbs/objects.h"
#include "verbs/thrown.h"

namespace verbena {

ErrorOr<AddressHandle> AddressHandle::Create(const ProtectionDomain& domain,
                                             const AddressVector& way, PathMtu port_mtu) try {
  if (!domain) return Fail(verbs::Empty("protection domain"));
  verbs::PdObject& pd = *domain.object();
  auto object = std::make_shared<verbs::AddressHandleObject>(domain.object());
  const auto handle = pd.device.CreateAddressHandle(pd.id, way, port_mtu);
  if (!handle) return Fail(handle.error());
  object->Name(*handle);
  return AddressHandle(std::move(object));
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> AddressHandle::Destroy() try {
  auto ended = verbs::EndNow(object(), "address handle");
  if (ended) Reset();
  return ended;
} catch (...) {
  return Fail(verbs::Thrown());
}

AddressHandleId AddressHandle::id() const {
  return AddressHandleId{object() ? object()->id.value() : 0};
}

}  // namespace verbena
