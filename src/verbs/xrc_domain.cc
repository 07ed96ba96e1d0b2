#include "verbena/xrc_domain.h"

#include "verbs/convert.h"
#include "verbs/objects.h"
#include "verbs/thrown.h"

namespace verbena {

ErrorOr<XrcDomain> XrcDomain::Open(const Context& context) try {
  if (!context) return Fail(verbs::Empty("context"));
  const std::shared_ptr<verbs::ContextObject>& on = context.object()->context;
  adapter::Adapter& device = *on->device;
  auto object = std::make_shared<verbs::XrcDomainObject>(on, device);
  const auto domain = device.OpenXrcDomain();
  if (!domain) return Fail(domain.error());
  object->thing = *domain;
  return XrcDomain(std::move(object));
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> XrcDomain::Destroy() try {
  auto ended = verbs::EndNow(object(), "XRC domain");
  if (ended) Reset();
  return ended;
} catch (...) {
  return Fail(verbs::Thrown());
}

}  // namespace verbena
