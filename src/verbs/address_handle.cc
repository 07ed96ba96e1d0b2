#include "verbena/address_handle.h"

#include "verbs/convert.h"
#include "verbs/objects.h"

namespace verbena {

ErrorOr<AddressHandle> AddressHandle::Create(const ProtectionDomain& domain,
                                             const AddressVector& way) {
  if (!domain) return Fail(verbs::Empty("protection domain"));
  verbs::PdObject& pd = *domain.object();
  const auto handle = pd.device.CreateAddressHandle(pd.id, verbs::ToAdapter(way));
  if (!handle) return Fail(verbs::FromAdapter(handle.error()));
  return AddressHandle(std::make_shared<verbs::AddressHandleObject>(domain.object(), *handle));
}

ErrorOr<void> AddressHandle::Destroy() {
  auto ended = verbs::EndNow(object(), "address handle");
  if (ended) Reset();
  return ended;
}

AddressHandleId AddressHandle::id() const {
  return AddressHandleId{object() ? object()->id.value() : 0};
}

}  // namespace verbena
