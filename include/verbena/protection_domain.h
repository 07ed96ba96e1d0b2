#pragma once

#include <memory>
#include <utility>

#include "verbena/context.h"
#include "verbena/error.h"
#include "verbena/handle.h"
#include "verbena/memory_events.h"

namespace verbena {

namespace verbs {
struct PdObject;
}

// Groups queue pairs, regions, windows, shared receive queues and address handles: a key is valid
// only on the queue pairs of its own domain.
class ProtectionDomain : public Handle<verbs::PdObject> {
 public:
  [[nodiscard]] static ErrorOr<ProtectionDomain> Allocate(const Context& context);
  ProtectionDomain() = default;

  // Destroys the domain at once. REFUSES while it has objects; the destructor leaves it alive until
  // the last of them is destroyed.
  [[nodiscard]] ErrorOr<void> Destroy();

  // What reports memory that the program gives up; nullptr unless Options::page_events is set and
  // the system allows it. Lives as long as the domain.
  [[nodiscard]] MemoryEvents* memory_events() const;

 private:
  explicit ProtectionDomain(std::shared_ptr<verbs::PdObject> object) : Handle(std::move(object)) {}
};

}  // namespace verbena
