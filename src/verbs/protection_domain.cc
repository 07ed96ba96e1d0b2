#include "verbena/protection_domain.h"

#include "verbs/convert.h"
#include "verbs/objects.h"

namespace verbena {

ErrorOr<ProtectionDomain> ProtectionDomain::Allocate(const Context& context) {
  if (!context) return Fail(verbs::Empty("context"));
  const std::shared_ptr<verbs::ContextObject>& on = context.object()->context;
  const auto pd = on->device->AllocatePd();
  if (!pd) return Fail(verbs::FromAdapter(pd.error()));
  return ProtectionDomain(std::make_shared<verbs::PdObject>(on, *pd));
}

ErrorOr<void> ProtectionDomain::Destroy() {
  auto ended = verbs::EndNow(object(), "protection domain");
  if (ended) Reset();
  return ended;
}

}  // namespace verbena
