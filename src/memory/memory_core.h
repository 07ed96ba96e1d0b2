#pragma once

#include <cstdint>
#include <deque>

#include "base/time.h"
#include "memory/options.h"
#include "memory/protection/iscsi_tasks.h"
#include "memory/protection/one_touch_keys.h"
#include "memory/protection/protection_table.h"
#include "memory/protection/regions.h"
#include "memory/protection/translator.h"
#include "memory/protection/windows.h"
#include "memory/spaces/consumers.h"
#include "memory/spaces/guest_table.h"
#include "memory/spaces/protection_domain.h"
#include "memory/translation/translation_store.h"

namespace verbena::memory {

// The tables of one adapter; start reading here. They determine which accesses are granted and
// where the bytes are:
//
//   consumers ◄── domains ◄── table (regions, windows, tasks) ──► translations ──► machine memory
//       │                                                              ▲
//       └──► guests (second stage) ────────────────────────────────────┘
//   The translator reads all of them and changes none.
//
// Pure: no socket, no clock, no thread, no system call. One thread at a time.
class MemoryCore {
 public:
  explicit MemoryCore(const MemoryOptions& options = {});
  MemoryCore(const MemoryCore&) = delete;
  MemoryCore& operator=(const MemoryCore&) = delete;

  // Local invalidate, or a peer's send with invalidate, of the region or window of the key.
  Result<void, Refusal> Invalidate(Key key, Origin origin, const Accessor& who);

  // Invalidates every entry of both stages that refers to a page of these bytes of machine memory,
  // or of a guest's physical memory (row E9). Returns how many were present. Must be called before
  // the memory is reused.
  uint64_t InvalidateMachine(MachineAddress first, MachineAddress last);
  uint64_t InvalidateGuestPhysical(GuestKey guest, PhysicalAddress first, PhysicalAddress last);

  // The bytes may not be resident, but still belong to their owner: the entries become absent until
  // they are requested again. Entries of page lists keep the address that their owner gave them.
  // Returns how many were present.
  uint64_t MarkMachineAbsent(MachineAddress first, MachineAddress last);
  // For memory whose pages are paged in and evicted, and that can only be registered as a
  // contiguous range: page lists that contain it are refused until AllowInLists. Existing entries,
  // which refer to earlier memory at these addresses, become absent.
  void ForbidInLists(MachineAddress first, MachineAddress last);
  void AllowInLists(MachineAddress first, MachineAddress last);

  // Whether an entry may refer to a page of these bytes.
  bool IsNamed(MachineAddress first, MachineAddress last) const;

  // An inverted page table for consumers of this adapter. Owned by the core.
  InvertedPageTable& MakeInvertedPageTable(PhysicalAddress base, uint32_t frame_count);

  // Sets the time. Key slots whose quarantine has ended become free.
  void AdvanceTo(Time now) { table.AdvanceTo(now); }

  bool IsConsistent() const;

  TranslationStore translations;
  GuestTable guests;
  Consumers consumers;
  ProtectionDomains domains;
  ProtectionTable table;
  const Translator translator;
  Regions regions;
  Windows windows;
  IscsiTasks tasks;
  OneTouchKeys one_touch;

 private:
  std::deque<InvertedPageTable> inverted_tables_;
};

}  // namespace verbena::memory
