#pragma once

#include <cstdint>
#include <unordered_map>

#include "base/mutex.h"
#include "verbena/strong_id.h"

namespace verbena::rdmacm {

struct Id;

// Events of the connection manager carry this key instead of a pointer: if an event is taken from
// its channel just before its id is destroyed, no id is found. Never reused.
using IdKey = StrongId<struct IdKeyTag, uint64_t>;

[[nodiscard]] inline void* ToUser(IdKey key) { return reinterpret_cast<void*>(key.value()); }
[[nodiscard]] inline IdKey FromUser(void* user) { return IdKey{reinterpret_cast<uintptr_t>(user)}; }

// The ids of this process by key. Bounded only by the program, which creates them.
//
// Thread rule: any thread.
class IdTable {
 public:
  [[nodiscard]] IdKey Add(Id& id);
  void Remove(IdKey key);

  // Calls `use` with the id, which cannot be removed meanwhile. False if there is none.
  template <class Use>
  bool With(IdKey key, Use&& use) {
    const MutexLock lock(mutex_);
    const auto found = ids_.find(key.value());
    if (found == ids_.end()) return false;
    use(*found->second);
    return true;
  }

  // Calls `use` with each id. No id can be removed meanwhile.
  template <class Use>
  void ForEach(Use&& use) {
    const MutexLock lock(mutex_);
    for (const auto& [key, id] : ids_) use(*id);
  }

 private:
  Mutex mutex_;
  std::unordered_map<uint64_t, Id*> ids_ VERBENA_GUARDED_BY(mutex_);
  uint64_t last_ VERBENA_GUARDED_BY(mutex_) = 0;
};

// Never destroyed: static destructors of the program may still destroy ids.
[[nodiscard]] IdTable& TheIdTable();

}  // namespace verbena::rdmacm
