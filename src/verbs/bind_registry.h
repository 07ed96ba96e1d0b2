#pragma once

#include <unordered_map>

#include "adapter/control/adapter.h"
#include "base/mutex.h"
#include "verbena/numbers.h"

namespace verbena::verbs {

// A window in the registry of its domain, which guards the members.
struct WindowEntry {
  Key key = {};            // at its allocation
  KeyIndex bound_to = {};  // the region of its last bind
  bool has_ended = false;
};

// The windows of a domain, and the region of each one's last bind. When a region ends, its windows
// must end, and the adapter does not say which they are.
//
// Owned by the domain; the entries are owned by the windows, which remove them. Any thread.
class BindRegistry {
 public:
  BindRegistry() = default;
  BindRegistry(const BindRegistry&) = delete;
  BindRegistry& operator=(const BindRegistry&) = delete;

  void Add(WindowEntry& window) VERBENA_EXCLUDES(mutex_);
  // A bind is about to be posted. Allocates nothing.
  void NoteBind(Key window, Key region) VERBENA_EXCLUDES(mutex_);

  // Ends a window, unless it has ended.
  [[nodiscard]] ErrorOr<void> End(WindowEntry& window, adapter::Adapter& device)
      VERBENA_EXCLUDES(mutex_);
  // Ends all windows whose last bind was to this region.
  void EndBoundTo(Key region, adapter::Adapter& device) VERBENA_EXCLUDES(mutex_);

 private:
  static ErrorOr<void> Deallocate(WindowEntry& window, adapter::Adapter& device);
  static bool DeallocateQuietly(WindowEntry& window, adapter::Adapter& device) noexcept;

  Mutex mutex_;
  std::unordered_map<KeyIndex, WindowEntry*> windows_ VERBENA_GUARDED_BY(mutex_);
};

}  // namespace verbena::verbs
