#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "verbena/error.h"
#include "verbena/handle.h"
#include "verbena/numbers.h"
#include "verbena/protection_domain.h"

namespace verbena {

namespace verbs {
struct WindowObject;
}

// Who may use the R_Key of a bound window: any queue pair of its domain (1), the one that it was
// bound on (2A), and that one only if its domain is the window's (2B). Type 1 may be bound again
// while it is bound, and is unbound by a bind to no bytes; type 2 is invalidated.
enum class WindowType : uint8_t { k1, k2A, k2B };

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
