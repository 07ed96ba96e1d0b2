#pragma once

#include <memory>
#include <utility>

#include "verbena/context.h"
#include "verbena/error.h"
#include "verbena/handle.h"

namespace verbena {

namespace verbs {
struct XrcDomainObject;
}

// The shared receive queues that extended reliable connections (XRC) deliver to: a message names
// one of them by its number. See SharedReceiveQueue::CreateXrc and QpSpec::xrc_domain.
class XrcDomain : public Handle<verbs::XrcDomainObject> {
 public:
  [[nodiscard]] static ErrorOr<XrcDomain> Open(const Context& context);
  XrcDomain() = default;

  // REFUSES while a queue pair or a shared receive queue belongs to it.
  [[nodiscard]] ErrorOr<void> Destroy();

 private:
  explicit XrcDomain(std::shared_ptr<verbs::XrcDomainObject> object) : Handle(std::move(object)) {}
};

}  // namespace verbena
