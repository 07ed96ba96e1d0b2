#include "verbena/protection_domain.h"

#include "verbs/convert.h"
#include "verbs/objects.h"
#include "verbs/thrown.h"

namespace verbena {

ErrorOr<ProtectionDomain> ProtectionDomain::Allocate(const Context& context) try {
  if (!context) return Fail(verbs::Empty("context"));
  const std::shared_ptr<verbs::ContextObject>& on = context.object()->context;
  auto object = std::make_shared<verbs::PdObject>(on);
  const auto pd = on->device->AllocatePd();
  if (!pd) return Fail(pd.error());
  object->Name(*pd);
  return ProtectionDomain(std::move(object));
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> ProtectionDomain::Destroy() try {
  auto ended = verbs::EndNow(object(), "protection domain");
  if (ended) Reset();
  return ended;
} catch (...) {
  return Fail(verbs::Thrown());
}

MemoryEvents* ProtectionDomain::memory_events() const {
  return object() ? object()->device.memory_events() : nullptr;
}

}  // namespace verbena
