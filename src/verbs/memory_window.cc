#include "verbena/memory_window.h"

#include "verbs/convert.h"
#include "verbs/memory_objects.h"
#include "verbs/thrown.h"

namespace verbena {

ErrorOr<MemoryWindow> MemoryWindow::Allocate(const ProtectionDomain& domain, WindowType type) try {
  if (!domain) return Fail(verbs::Empty("protection domain"));
  if (type > WindowType::k2B) return Fail(verbs::Invalid("unknown window type"));
  verbs::PdObject& pd = *domain.object();
  auto window = std::make_shared<verbs::WindowObject>(domain.object(), type);
  const auto key = pd.device.AllocateWindow(pd.id, type);
  if (!key) return Fail(key.error());
  window->Name(*key);
  return MemoryWindow(std::move(window));
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> MemoryWindow::Destroy() try {
  auto ended = verbs::EndNow(object(), "memory window");
  if (ended) Reset();
  return ended;
} catch (...) {
  return Fail(verbs::Thrown());
}

Key MemoryWindow::first_key() const { return object() ? object()->entry.key : Key{}; }

WindowType MemoryWindow::type() const { return object() ? object()->type : WindowType{}; }

}  // namespace verbena
