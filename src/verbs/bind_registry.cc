#include "verbs/bind_registry.h"

#include <new>

#include "verbs/any_variant.h"

namespace verbena::verbs {

void BindRegistry::Add(WindowEntry& window) {
  const MutexLock lock(mutex_);
  windows_[window.key.index()] = &window;
}

void BindRegistry::NoteBind(Key window, Key region) {
  const MutexLock lock(mutex_);
  const auto found = windows_.find(window.index());
  if (found != windows_.end()) found->second->bound_to = region.index();
}

ErrorOr<void> BindRegistry::Deallocate(WindowEntry& window, adapter::Adapter& device) {
  const auto ended =
      EndAnyVariant(window.key, [&](Key key) { return device.DeallocateWindow(key); });
  window.has_ended = ended.has_value();
  return ended;
}

bool BindRegistry::DeallocateQuietly(WindowEntry& window, adapter::Adapter& device) noexcept try {
  return Deallocate(window, device).has_value();
} catch (const std::bad_alloc&) {  // of an error text
  return false;
}

ErrorOr<void> BindRegistry::End(WindowEntry& window, adapter::Adapter& device) {
  const MutexLock lock(mutex_);
  if (window.has_ended) return {};
  const auto ended = Deallocate(window, device);
  windows_.erase(window.key.index());
  return ended;
}

void BindRegistry::EndBoundTo(Key region, adapter::Adapter& device) {
  const MutexLock lock(mutex_);
  for (auto it = windows_.begin(); it != windows_.end();) {
    WindowEntry& window = *it->second;
    const bool is_bound = window.bound_to == region.index();
    it = is_bound && DeallocateQuietly(window, device) ? windows_.erase(it) : std::next(it);
  }
}

}  // namespace verbena::verbs
