#pragma once

#include <unordered_map>

#include "adapter/control/adapter.h"
#include "base/mutex.h"
#include "verbena/numbers.h"

namespace verbena::verbs {

// A window as its domain knows it: guarded by the book that it is in.
struct WindowEntry {
  Key key = {};            // when it was allocated
  KeyIndex bound_to = {};  // the region of its last bind
  bool has_ended = false;
};

// The windows of a domain, and which region each was last bound to: a region that ends, ends its
// windows, and the adapter does not say which these are.
//
// Owned by the domain; the entries by the windows, which take themselves out. Any thread.
class BindRegistry {
 public:
  BindRegistry() = default;
  BindRegistry(const BindRegistry&) = delete;
  BindRegistry& operator=(const BindRegistry&) = delete;

  void Add(WindowEntry& window) VERBENA_EXCLUDES(mutex_);
  // A bind is about to be posted. Allocates nothing.
  void NoteBind(Key window, Key region) VERBENA_EXCLUDES(mutex_);

  // Ends one, if it has not ended.
  [[nodiscard]] ErrorOr<void> End(WindowEntry& window, adapter::Adapter& device)
      VERBENA_EXCLUDES(mutex_);
  // Ends all whose last bind was to this region.
  void EndBoundTo(Key region, adapter::Adapter& device) VERBENA_EXCLUDES(mutex_);

 private:
  static ErrorOr<void> Deallocate(WindowEntry& window, adapter::Adapter& device);
  static bool DeallocateQuietly(WindowEntry& window, adapter::Adapter& device) noexcept;

  Mutex mutex_;
  std::unordered_map<KeyIndex, WindowEntry*> windows_ VERBENA_GUARDED_BY(mutex_);
};

}  // namespace verbena::verbs
