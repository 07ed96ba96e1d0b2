#include "verbena/memory_window.h"

#include "verbs/convert.h"
#include "verbs/memory_objects.h"

namespace verbena {

static_assert(static_cast<int>(WindowType::k2B) == static_cast<int>(memory::WindowType::kType2B));

ErrorOr<MemoryWindow> MemoryWindow::Allocate(const ProtectionDomain& domain, WindowType type) {
  if (!domain) return Fail(verbs::Empty("protection domain"));
  if (type > WindowType::k2B) return Fail(verbs::Invalid("no such type of window"));
  verbs::PdObject& pd = *domain.object();
  const auto key = pd.device.AllocateWindow(pd.id, static_cast<memory::WindowType>(type));
  if (!key) return Fail(verbs::FromAdapter(key.error()));
  return MemoryWindow(std::make_shared<verbs::WindowObject>(domain.object(), *key, type));
}

ErrorOr<void> MemoryWindow::Destroy() {
  auto ended = verbs::EndNow(object(), "memory window");
  if (ended) Reset();
  return ended;
}

Key MemoryWindow::first_key() const {
  return object() ? verbs::FromAdapter(object()->entry.key) : Key{};
}

WindowType MemoryWindow::type() const { return object() ? object()->type : WindowType{}; }

}  // namespace verbena
