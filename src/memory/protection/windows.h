#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "memory/access.h"
#include "memory/address.h"
#include "memory/memory_error.h"
#include "memory/protection/protection_table.h"
#include "memory/protection/translator.h"
#include "memory/refusal.h"
#include "memory/spaces/protection_domain.h"

namespace verbena::memory {

// The binding of a window: any range of bytes of a region.
struct WindowBinding {
  Key region;           // its L_Key
  KeyAddress start;     // in the region's addresses
  uint64_t length = 0;  // 0 unbinds a type 1 window; the other fields are then ignored
  Access rights;        // remote rights only
  bool zero_based = false;
  bool one_touch = false;
  // The variant of the new R_Key, which the owner chooses, as in work requests. For a type 1 window
  // it must be a new one, because the old key must end; the table chooses it if the owner does not.
  std::optional<KeyVariant> variant = {};
  // Identifies the window by the index of its key alone: an owner that has the window as an object
  // need not know which of its binds were executed.
  bool by_index = false;
};

// Memory windows: keys that grant access to a range of a region and are cheap to bind and
// invalidate (row A1). Allocation is a call; bind and invalidate are work requests, without system
// calls and allocations.
//
// One thread at a time.
class Windows {
 public:
  Windows(ProtectionTable& table, ProtectionDomains& domains, const Translator& translator)
      : table_(table), domains_(domains), translator_(translator) {}

  MemoryResult<Key> Allocate(PdId pd, WindowType type);
  // Unbinds the window if it is bound.
  MemoryResult<void> Deallocate(Key window);

  // Returns the new R_Key; the old one is stale. A type 1 window may be bound again at any time, a
  // type 2 window when it has been invalidated. On failure the window is as it was.
  Result<Key, Refusal> Bind(Key window, const WindowBinding& binding, const Accessor& who);

  // Ends a type 2 binding, for its owner (local invalidate) or for the peer (send with invalidate).
  Result<void, Refusal> Invalidate(Key window, const Accessor& who);

 private:
  Result<ProtectionEntry*, Refusal> FindForBind(Key window, const WindowBinding& binding,
                                                const Accessor& who);
  Result<Translator::Grant, Refusal> CheckRegion(const WindowBinding& binding,
                                                 const Accessor& who) const;
  Result<Key, Refusal> Unbind(SlotNumber slot, std::optional<KeyVariant> variant);
  // The slot of the next generation, with a new key.
  SlotNumber Rekey(SlotNumber slot, std::optional<KeyVariant> variant);
  bool OwnerMay(const ProtectionEntry& region, uint64_t offset, uint64_t length,
                Access needed) const;

  ProtectionTable& table_;
  ProtectionDomains& domains_;
  const Translator& translator_;
};

}  // namespace verbena::memory
