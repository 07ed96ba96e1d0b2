#include "verbena/xrc_domain.h"

#include "verbs/convert.h"
#include "verbs/objects.h"

namespace verbena {

ErrorOr<XrcDomain> XrcDomain::Open(const Context& context) {
  if (!context) return Fail(verbs::Empty("context"));
  const std::shared_ptr<verbs::ContextObject>& on = context.object()->context;
  adapter::Adapter& device = *on->device;
  const auto domain = device.OpenXrcDomain();
  if (!domain) return Fail(verbs::FromAdapter(domain.error()));
  return XrcDomain(std::make_shared<verbs::XrcDomainObject>(on, device, *domain));
}

ErrorOr<void> XrcDomain::Destroy() {
  auto ended = verbs::EndNow(object(), "XRC domain");
  if (ended) Reset();
  return ended;
}

}  // namespace verbena
