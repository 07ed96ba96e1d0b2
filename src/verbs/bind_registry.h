#pragma once

#include <unordered_map>

#include "adapter/control/adapter.h"
#include "base/mutex.h"
#include "verbena/numbers.h"

namespace verbena::verbs {

// A window in the registry of its domain. The lock of the registry guards the members.
struct WindowEntry {
  Key key = {};            // at its allocation
  KeyIndex bound_to = {};  // the region of its last bind
  bool has_ended = false;
};

// The windows of a domain, and the region of the last bind of each. When a region is destroyed, its
// windows must end first, and the adapter has no list of them.
//
// Owned by the domain; the entries are owned by the windows, which remove them. Any thread.
class BindRegistry {
 public:
  BindRegistry() = default;
  BindRegistry(const BindRegistry&) = delete;
  BindRegistry& operator=(const BindRegistry&) = delete;

  void Add(WindowEntry& window) VERBENA_EXCLUDES(mutex_);
  // Records a bind before it is posted. Allocates nothing.
  void NoteBind(Key window, Key region) VERBENA_EXCLUDES(mutex_);

  // Ends a window, unless it has already ended.
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
