#pragma once

#include <cstdint>

#include "base/interval_map.h"
#include "base/time.h"
#include "cache/sync.h"
#include "verbena/access.h"
#include "verbena/registration_cache.h"

namespace verbena::cache {

using EntryNumber = uint32_t;

// The life of an entry. Only the holder of the core's mutex changes it.
//
//   kFree -> kChanging -> kLive -> kChanging -> kFree      found by anything that it serves
//                     \-> kDetached -^                     found by nothing; ends with its last use
//                     \-> kHeld -> kChanging -> kParked    the only handle of an R_Key
//                             ^-------/ ^---------/
enum class RegistrationState : uint32_t {
  kFree,
  kChanging,  // a thread is in the backend with it, and is the only one to touch it
  kLive,
  kDetached,
  kHeld,
  kParked,
};

// Rights by which other nodes, or bytes that were not asked for, can be reached: an entry with any
// of them serves requests for exactly its bytes and rights only.
inline constexpr Access kExactRights = Access::kRemote | Access::kWindowBind;

// What is asked for. Never empty, and `bytes` does not wrap.
struct RegistrationRequest {
  Interval bytes;
  Access access;

  [[nodiscard]] bool is_exact() const { return access.HasAny(kExactRights); }
};

// A registration. The first cache line is all that a hit reads; `state` and the reference counts
// say when it may be read, and written: see hit.h.
struct alignas(64) Entry {
  SyncAtomic<RegistrationState> state;
  Access access;
  Interval bytes;
  CachedKeys keys;

  // Guarded by the core's mutex.
  alignas(64) EntryNumber next;  // in the list of free, or of doomed entries
  bool is_given_up;              // its memory went while it was kChanging
  bool has_one_handle;           // at a time: only that handle's release ends it, or parks it
  uint64_t uses_seen;            // acquisitions when the eviction last looked at it
  uint64_t uses_aged;            // when it was last looked at for its age...
  Time used;                     // ...and the time when they were found to have grown

  [[nodiscard]] bool Serves(const RegistrationRequest& request) const {
    if (request.is_exact()) return bytes == request.bytes && access == request.access;
    return !access.HasAny(kExactRights) && access.Has(request.access) &&
           bytes.first <= request.bytes.first && request.bytes.last <= bytes.last;
  }
};
static_assert(sizeof(Entry) == 128);

}  // namespace verbena::cache
