#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "base/slot_table.h"
#include "memory/access.h"
#include "memory/memory_error.h"
#include "memory/spaces/page_table.h"
#include "memory/spaces/segment_table.h"

namespace verbena::memory {

// The properties of a consumer, set when it is opened.
struct ConsumerSpec {
  // Which page table serves the regions that are translated by the consumer's own tables.
  struct PrivateTable {
    bool identity = false;  // virtual pages are at their own address: the process's memory as it is
  };
  struct SharedTable {
    std::span<const std::atomic<uint64_t>> entries;
  };
  using Table = std::variant<std::monostate, PrivateTable, SharedTable, InvertedPageTable*>;

  // Privileged consumers (kernels, drivers) may name memory by virtual and physical address.
  bool privileged = false;
  // Without segments the consumer's address space is flat: effective addresses are virtual ones and
  // all of them are its own. This is for an ordinary process, which can access its memory without
  // the adapter.
  bool has_segments = false;
  // With segments: addresses outside of them are flat, too. This is for a process with managed
  // memory, which has a segment for each arena (odp/managed_pages.h).
  bool is_flat_outside = false;
  Table table = {};
};

struct Consumer {
  bool privileged;
  bool is_flat_outside;
  std::optional<SegmentTable> segments;
  std::optional<PageTable> pages;
  uint32_t users = 0;  // protection domains

  // May the consumer itself touch these effective addresses with these rights (row A2)?
  bool MayAccess(EffectiveAddress start, uint64_t length, Access needed) const {
    return has_all() || segments->MayAccess(start, length, needed);
  }
  // May it name memory by physical address?
  bool MayUsePhysical() const { return privileged || has_all(); }
  bool has_all() const { return is_flat_outside || !segments.has_value(); }
};

// The address spaces whose memory the adapter may be asked to touch. Opening the first queue pair
// of a process opens its consumer; all its queue pairs share it (row A7).
//
// One thread at a time.
class Consumers {
 public:
  Consumers(TranslationStore& store, uint32_t consumers_max)
      : store_(store), consumers_(consumers_max) {}

  MemoryResult<ConsumerId> Open(const ConsumerSpec& spec);
  // REFUSES while a protection domain belongs to it.
  MemoryResult<void> Close(ConsumerId id);

  Consumer* Find(ConsumerId id) { return consumers_.Find(id); }
  const Consumer* Find(ConsumerId id) const { return consumers_.Find(id); }

  // The verbs by which the operating system keeps the adapter current (row A7).
  MemoryResult<void> SegmentTableUpdate(ConsumerId id, SegmentChange change,
                                        const Segment& segment);
  MemoryResult<void> MapLocalPage(ConsumerId id, VirtualAddress page, PhysicalAddress where,
                                  bool writable);
  MemoryResult<void> UnmapLocalPage(ConsumerId id, VirtualAddress page);

  uint64_t size() const { return consumers_.size(); }
  bool IsConsistent() const { return consumers_.IsConsistent(); }

 private:
  MemoryResult<std::optional<PageTable>> MakePageTable(const ConsumerSpec& spec, ConsumerId id);
  MemoryResult<PageTable*> PagesOf(ConsumerId id);

  TranslationStore& store_;
  SlotTable<Consumer, ConsumerId, 12> consumers_;
};

}  // namespace verbena::memory
