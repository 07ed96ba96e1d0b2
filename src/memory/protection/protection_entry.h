#pragma once

#include <cstdint>

#include "memory/access.h"
#include "memory/protection/key_allocator.h"
#include "memory/protection/one_touch.h"
#include "memory/spaces/guest_key.h"
#include "memory/translation/translation_table.h"
#include "verbena/numbers.h"

namespace verbena::memory {

enum class EntryType : uint8_t { kRegion, kWindow, kTask };

//   kFree ──► kReserved ◄──► kValid ◄──► kSwappedOut          kRetired ──► kFree, after quarantine
//     ▲           │             │             │                   ▲
//     └───────────┴─────────────┴─────────────┴── freed ──────────┘  (if its variants are spent)
enum class EntryState : uint8_t {
  kFree,      // not in use
  kReserved,  // has an owner and a key, but grants nothing: not registered, not bound, invalidated
  kValid,     // grants its rights
  kSwappedOut,  // a region whose memory is taken away; the other fields are unchanged
  kRetired,     // not in use, and in quarantine
};

// How a region of the owner's address space is addressed (row A7): effective addresses are
// translated by the segment table first, virtual ones by the page table only.
enum class AddressKind : uint8_t { kEffective, kVirtual };

// One entry of the protection table: everything that the checks of an access need, in one cache
// line (row B4).
struct alignas(64) ProtectionEntry {
  ProtectionEntry() : region{} {}

  // The bytes that the key covers: [start, start + length) of key addresses.
  uint64_t start = 0;
  uint64_t length = 0;

  // Translates them. Null for a region that is translated by its owner's segment and page tables,
  // for an empty region, and for a window, which uses the table of its region.
  TranslationTable* table = nullptr;

  struct Region {
    uint32_t bound_windows;
    uint32_t held_windows;  // of the bound windows
  };
  struct Window {
    uint64_t offset;  // of the window's first byte in its region
    QpNumber qp;      // type 2
    SlotNumber region;
  };
  struct Task {
    uint64_t command;    // the consumer's id of the iSCSI command
    bool command_reads;  // a disk read: Data-In writes the memory
  };
  union {
    Region region;  // type kRegion
    Window window;  // type kWindow
    Task task;      // type kTask
  };

  uint32_t first_offset = 0;  // of the first byte in the first page of the table
  PdId pd;
  GuestKey guest;                 // of the physical addresses in the table; kHost: none
  StreamNumber stored_last_byte;  // while `touched`: the end of the message that touched it
  Access rights;                  // window binding is one of them
  EntryType type = EntryType::kRegion;
  EntryState state = EntryState::kFree;
  WindowType window_type = WindowType::k1;
  KeyVariant local_variant;   // of the L_Key
  KeyVariant remote_variant;  // of the R_Key

  AddressKind address_kind : 1 = AddressKind::kEffective;
  bool one_touch : 1 = false;
  bool touched : 1 = false;
  // Touched by a message that may have to be replayed, and valid for that only. For the owner the
  // key has ended.
  bool held : 1 = false;
  bool zero_based : 1 = false;
  bool by_work_request : 1 = false;  // a region that work requests register and invalidate
  bool was_valid : 1 = false;        // the current variant has been in use
  bool is_null : 1 = false;          // a region without memory
  bool faults_when_out : 1 = false;  // while swapped out: accesses fault instead of being refused

  KeyUse use() const {
    if (!one_touch) return KeyUse::kMany;
    return touched ? KeyUse::kSpent : KeyUse::kOnce;
  }
  bool is_live() const { return state != EntryState::kFree && state != EntryState::kRetired; }
  KeyVariant VariantFor(Origin origin) const {
    return origin == Origin::kLocal ? local_variant : remote_variant;
  }
};
static_assert(sizeof(ProtectionEntry) == 64);

}  // namespace verbena::memory
