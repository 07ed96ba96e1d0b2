#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "base/page.h"
#include "memory/access.h"
#include "memory/address.h"
#include "memory/memory_error.h"
#include "memory/protection/protection_table.h"
#include "memory/refusal.h"
#include "memory/spaces/guest_table.h"
#include "memory/spaces/protection_domain.h"
#include "memory/translation/translation_store.h"

namespace verbena::memory {

// What a region is to grant.
struct RegionSpec {
  PdId pd;
  KeyAddress start;     // the first byte's address beside the key; must be 0 when zero-based
  uint64_t length = 0;  // an empty region is valid and grants nothing
  Access rights;
  bool zero_based = false;
  bool one_touch = false;      // dies with the first remote message that used it
  bool distinct_keys = false;  // R_Key and L_Key with different variants
  bool keep_keys = false;      // of Reregister: see there
  bool on_demand = false;      // the owner need not have the bytes mapped yet
  AddressKind address_kind = AddressKind::kEffective;
};

// Where its bytes are.
//
// Memory in one piece from `base`: the ordinary case of a buffer in a process. No page is present
// until MapPages says so, and nothing is allocated before.
//
// `guest`: whose physical addresses these are (row E6); the host's are machine addresses.
struct LinearBacking {
  PhysicalAddress base;  // of the first byte; any alignment
  PageShift page_shift{PageShift::kMin};
  GuestKey guest = kHost;
};
// Pages anywhere, all present. The region begins `first_offset` bytes into the first page and may
// end inside the last one.
struct PageListBacking {
  std::span<const PhysicalAddress> pages;
  uint64_t first_offset = 0;
  PageShift page_shift{PageShift::kMin};
  bool writable = true;
  GuestKey guest = kHost;
};
// The translation entries of another region, which both then share (row B6): no second copy, and a
// page that comes or goes does so for both. The same bytes, so the same length; the addresses
// beside the key may begin elsewhere.
struct SharedBacking {
  Key with;
};
// The owner's own segment and page tables. With start 0 and length 2^64 - 1 this is the implicit
// region over all that the owner has.
struct AddressSpaceBacking {};

// No memory: reads find zeros, and writes are forgotten. For the owner alone, so without remote
// rights or windows.
struct NullBacking {};

using Backing =
    std::variant<LinearBacking, PageListBacking, SharedBacking, AddressSpaceBacking, NullBacking>;

struct RegionKeys {
  Key local;   // L_Key
  Key remote;  // R_Key

  friend bool operator==(const RegionKeys&, const RegionKeys&) = default;
};

// Registration of memory, by call and by work request.
//
// Calls fail with a MemoryError, work requests with a Refusal; either way nothing has changed.
// One thread at a time.
class Regions {
 public:
  Regions(ProtectionTable& table, ProtectionDomains& domains, const GuestTable& guests,
          TranslationStore& store)
      : table_(table), domains_(domains), guests_(guests), store_(store) {}

  // By call (row B1): the region stands when this returns. Takes a few microseconds at any size.
  MemoryResult<RegionKeys> Register(const RegionSpec& spec, const Backing& backing);

  // Gives the region new rights, domain, range or translation, and new keys; without `backing` the
  // bytes stay where they are and start and length must too. With `keep_keys` the keys stay, too,
  // unless they are good for one message. REFUSES while windows are bound to it.
  MemoryResult<RegionKeys> Reregister(Key key, const RegionSpec& spec,
                                      const std::optional<Backing>& backing);

  // REFUSES while windows are bound to it. By either key, in any state.
  MemoryResult<void> Deregister(Key key);

  // By work request (row B2). First a key for a region of up to `pages_max` pages, which grants
  // nothing yet...
  MemoryResult<RegionKeys> Reserve(PdId pd, uint64_t pages_max, PageShift page_shift);

  // ...then, on a queue pair, what it grants. `key` is the reserved index with the variant that
  // the region is to have: the reserved one the first time, another one each time after an
  // invalidation.
  Result<RegionKeys, Refusal> RegisterReserved(Key key, const RegionSpec& spec,
                                               const PageListBacking& backing, const Accessor& who);

  // Ends a region that was registered by work request, on behalf of its owner (local invalidate) or
  // of a peer (send with invalidate). The key stays reserved.
  Result<void, Refusal> Invalidate(Key key, Origin origin, const Accessor& who);

  // Takes a region's memory away and gives it back (rows D4, D6, D8): nothing but the valid bit
  // changes; keys, windows and tables stay. While it is out, pages may be mapped to new places, and
  // an access that all other checks grant is refused, or is a fault, which waits. Only a region
  // with a table can make accesses wait.
  enum class WhenOut : uint8_t { kRefuse, kWait };
  MemoryResult<void> SwapOut(Key key, WhenOut answer = WhenOut::kRefuse);
  MemoryResult<void> SwapIn(Key key);

  // Pages of a region with a table become present or absent, numbered from the region's first.
  // `where` is left out for linear regions, and for pages of a list that are back where they were.
  MemoryResult<void> MapPages(Key key, uint64_t first_page, uint64_t count,
                              std::optional<PhysicalAddress> where, bool writable);
  MemoryResult<void> UnmapPages(Key key, uint64_t first_page, uint64_t count);

 private:
  struct Memory {
    TranslationTable* table = nullptr;
    uint32_t first_offset = 0;
    uint64_t length = 0;
    bool is_null = false;
    GuestKey guest = kHost;
  };

  MemoryResult<void> CheckSpec(const RegionSpec& spec) const;
  MemoryResult<void> CheckOwner(const RegionSpec& spec, const Backing& backing) const;
  static Backing BackingOf(const ProtectionEntry& region);
  MemoryResult<Memory> MakeMemory(const RegionSpec& spec, const Backing& backing);
  MemoryResult<Memory> MakeLinear(const RegionSpec& spec, const LinearBacking& linear);
  MemoryResult<Memory> MakePageList(const RegionSpec& spec, const PageListBacking& list);
  MemoryResult<Memory> ShareMemory(const RegionSpec& spec, Key with);
  void FillIn(SlotNumber slot, const RegionSpec& spec, const Memory& memory);
  RegionKeys KeysOf(SlotNumber slot) const {
    return {table_.LocalKey(slot), table_.RemoteKey(slot)};
  }

  ProtectionTable& table_;
  ProtectionDomains& domains_;
  const GuestTable& guests_;
  TranslationStore& store_;
};

}  // namespace verbena::memory
