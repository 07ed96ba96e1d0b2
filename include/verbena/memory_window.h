#pragma once

#include <memory>
#include <utility>

#include "verbena/access.h"
#include "verbena/error.h"
#include "verbena/handle.h"
#include "verbena/numbers.h"
#include "verbena/protection_domain.h"

namespace verbena {

namespace verbs {
struct WindowObject;
}

// A key that costs nothing to point at some bytes of a region and to take away again. It is bound
// and invalidated by work requests: see Bind and Invalidate in work_request.h.
class MemoryWindow : public Handle<verbs::WindowObject> {
 public:
  [[nodiscard]] static ErrorOr<MemoryWindow> Allocate(const ProtectionDomain& domain,
                                                      WindowType type);
  MemoryWindow() = default;

  // Unbinds it, too.
  [[nodiscard]] ErrorOr<void> Destroy();

  // Before it was bound for the first time. Each bind gives it the key that the program chose.
  [[nodiscard]] Key first_key() const;
  [[nodiscard]] WindowType type() const;

 private:
  explicit MemoryWindow(std::shared_ptr<verbs::WindowObject> object) : Handle(std::move(object)) {}
};

}  // namespace verbena
