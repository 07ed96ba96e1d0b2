#pragma once

#include <memory>
#include <utility>

#include "verbena/context.h"
#include "verbena/error.h"
#include "verbena/handle.h"

namespace verbena {

namespace verbs {
struct PdObject;
}

// Which queue pairs, regions, windows, shared receive queues and address handles belong together:
// a key is good on the queue pairs of its own domain.
class ProtectionDomain : public Handle<verbs::PdObject> {
 public:
  [[nodiscard]] static ErrorOr<ProtectionDomain> Allocate(const Context& context);
  ProtectionDomain() = default;

  // Now, and not when the last that stands on it has ended. REFUSES while there is one.
  [[nodiscard]] ErrorOr<void> Destroy();

 private:
  explicit ProtectionDomain(std::shared_ptr<verbs::PdObject> object) : Handle(std::move(object)) {}
};

}  // namespace verbena
