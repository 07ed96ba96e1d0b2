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

// A key for some bytes of a region, which is cheap to bind and to invalidate. Both are work
// requests: see Bind and Invalidate in work_request.h.
class MemoryWindow : public Handle<verbs::WindowObject> {
 public:
  [[nodiscard]] static ErrorOr<MemoryWindow> Allocate(const ProtectionDomain& domain,
                                                      WindowType type);
  MemoryWindow() = default;

  // Also unbinds it.
  [[nodiscard]] ErrorOr<void> Destroy();

  // The key before the first bind. Each bind sets the key that the program chooses.
  [[nodiscard]] Key first_key() const;
  [[nodiscard]] WindowType type() const;

 private:
  explicit MemoryWindow(std::shared_ptr<verbs::WindowObject> object) : Handle(std::move(object)) {}
};

}  // namespace verbena
