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

// The rights and addresses of a region.
struct RegionSpec {
  PdId pd;
  KeyAddress start;     // key address of the first byte; must be 0 if zero-based
  uint64_t length = 0;  // an empty region is valid and grants nothing
  Access rights;
  bool zero_based = false;
  bool one_touch = false;      // ends with the first remote message that uses it
  bool distinct_keys = false;  // R_Key and L_Key with different variants
  bool keep_keys = false;      // see Reregister
  bool on_demand = false;      // the bytes need not be mapped at registration
  AddressKind address_kind = AddressKind::kEffective;
};

// The backing of a region: where its bytes are.
//
// Contiguous memory from `base` on: the usual buffer in a process. No page is present before
// MapPages, and nothing is allocated before.
//
// `guest`: whose physical addresses these are (row E6); the host's are machine addresses.
struct LinearBacking {
  PhysicalAddress base;  // of the first byte; any alignment
  PageShift page_shift{PageShift::kMin};
  GuestKey guest = kHost;
};
// Pages at any addresses, all present. The region starts `first_offset` bytes into the first page
// and may end inside the last one.
struct PageListBacking {
  std::span<const PhysicalAddress> pages;
  uint64_t first_offset = 0;
  PageShift page_shift{PageShift::kMin};
  bool writable = true;
  GuestKey guest = kHost;
};
// The translation entries of another region, which both share (row B6): pages become present or
// absent for both. The bytes and the length are the same; key addresses may start elsewhere.
struct SharedBacking {
  Key with;
};
// The owner's segment and page tables. With start 0 and length 2^64 - 1 this is the implicit region
// over the whole address space.
struct AddressSpaceBacking {};

// No memory: reads return zeros, and writes are discarded. For local access only, without remote
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
// Calls fail with a MemoryError, work requests with a Refusal; a failure changes nothing. One
// thread at a time.
class Regions {
 public:
  Regions(ProtectionTable& table, ProtectionDomains& domains, const GuestTable& guests,
          TranslationStore& store)
      : table_(table), domains_(domains), guests_(guests), store_(store) {}

  // By call (row B1): the region is valid when this returns. Takes a few microseconds at any size.
  MemoryResult<RegionKeys> Register(const RegionSpec& spec, const Backing& backing);

  // Changes rights, domain, range or translation of the region, and its keys; without `backing` the
  // bytes, start and length must stay the same. With `keep_keys` the keys stay, unless they are
  // one-touch keys. Fails while windows are bound to it.
  MemoryResult<RegionKeys> Reregister(Key key, const RegionSpec& spec,
                                      const std::optional<Backing>& backing);

  // Fails while windows are bound to it. Accepts either key, in any state.
  MemoryResult<void> Deregister(Key key);

  // By work request (row B2). First, Reserve returns a key for a region of up to `pages_max` pages,
  // which grants nothing yet.
  MemoryResult<RegionKeys> Reserve(PdId pd, uint64_t pages_max, PageShift page_shift);

  // Then a work request registers memory with it. `key` is the reserved index with the variant of
  // the region: the reserved one the first time, another one after each invalidation.
  Result<RegionKeys, Refusal> RegisterReserved(Key key, const RegionSpec& spec,
                                               const PageListBacking& backing, const Accessor& who);

  // Invalidates a region that was registered by work request, for its owner (local invalidate) or
  // for a peer (send with invalidate). The key stays reserved.
  Result<void, Refusal> Invalidate(Key key, Origin origin, const Accessor& who);

  // Swap a region out and in (rows D4, D6, D8): only the valid bit changes; keys, windows and
  // tables stay. While it is out, pages may be mapped to other addresses, and an access that passes
  // all other checks is refused, or is a fault. Only accesses to a region with a table can be
  // faults.
  enum class WhenOut : uint8_t { kRefuse, kWait };
  MemoryResult<void> SwapOut(Key key, WhenOut answer = WhenOut::kRefuse);
  MemoryResult<void> SwapIn(Key key);

  // Make pages of a region with a table present or absent; page 0 is the first of the region.
  // `where` is nullopt for linear regions, and for absent pages of a list that keep their address.
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
