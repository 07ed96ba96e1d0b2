#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "queue/wqe.h"
#include "sim/endnode.h"
#include "sim/findings.h"
#include "sim/guest_agent.h"
#include "sim/hypervisor.h"
#include "sim/quiescing_host.h"
#include "sim/slow_swap.h"
#include "sim/swarm.h"

namespace verbena::sim {

// What happened to managed memory in a run. A value type.
struct ManagedCounters {
  uint64_t reads = 0;      // by peers, successful
  uint64_t loaded = 0;     // pages, from the swap file
  uint64_t broken = 0;     // pages, whose contents the swap file has lost
  uint64_t discarded = 0;  // times that the program gave contents up
  uint64_t budgets = 0;    // changes of the budget
  uint64_t taken = 0;      // times that the host took the region or a part of it away
  uint64_t emptied = 0;    // of them, times that all of its memory had left
  uint64_t awaited = 0;    // of them, times that an access waited for it
  HypervisorCounters hypervisor;

  ManagedCounters& operator+=(const ManagedCounters& other) {
    reads += other.reads;
    loaded += other.loaded;
    broken += other.broken;
    discarded += other.discarded;
    budgets += other.budgets;
    taken += other.taken;
    emptied += other.emptied;
    awaited += other.awaited;
    hypervisor += other.hypervisor;
    return *this;
  }
};

// Managed memory of an endnode, larger than its budget, that peers write and read: the real arena
// without its thread, on a simulated swap file. Also its oracle: contents, budget, and leaks at the
// end. The program discards contents and changes the budget, but never touches a byte, because its
// thread would wait for the pager: peers read what they wrote. Now and then the host takes the
// memory away. It is divided into slots, and an operation uses one slot exclusively. One thread.
class ManagedMemory {
 public:
  // `hypervisor`: whose guest the endnode is; nullptr: of none.
  ManagedMemory(const Swarm& swarm, Endnode& node, Random& random, Hypervisor* hypervisor);
  ManagedMemory(const ManagedMemory&) = delete;
  ManagedMemory& operator=(const ManagedMemory&) = delete;
  ~ManagedMemory();

  // Runs the pager once. Only the pager adds memory, up to the budget or, while writes to the swap
  // file fail, to the overrun.
  void Step(bool is_calm, Findings& findings);
  // No transfer is outstanding, and no page request.
  [[nodiscard]] bool is_quiet();
  // All contents are discarded: no memory is used, nor space of the swap file. REQUIRES:
  // is_quiet().
  void CheckEnd(Findings& findings);

  // A slot that no operation uses; nullopt if there is none.
  [[nodiscard]] std::optional<uint32_t> Take(Random& random);
  // A slot that was not read since the liveness phase began.
  [[nodiscard]] std::optional<uint32_t> TakeUnread();
  [[nodiscard]] bool all_are_read() const;

  [[nodiscard]] RemoteAddress Remote(uint32_t slot) const;
  // Its expected contents.
  [[nodiscard]] std::span<const std::byte> Expected(uint32_t slot) const {
    return std::span(contents_).subspan(OffsetOf(slot), slot_bytes_);
  }
  // The operation has ended. After a failed write the slot is not used any more, because its
  // contents are unknown; nor after several failed reads, until its contents are discarded.
  void Wrote(uint32_t slot, std::span<const std::byte> bytes, bool well);
  void Read(uint32_t slot, bool well);

  [[nodiscard]] ManagedCounters counters() const;

 private:
  struct Slot {
    bool is_taken = false;
    bool is_unknown = false;  // a write has failed
    bool is_read = false;     // in the liveness phase
    uint32_t failures = 0;    // of reads in a row
    [[nodiscard]] bool is_lost() const;
  };

  [[nodiscard]] uint64_t OffsetOf(uint32_t slot) const {
    return swarm_.managed_offset + uint64_t{slot} * slot_bytes_;
  }
  // The slots with bytes in this range.
  [[nodiscard]] std::span<Slot> SlotsAt(uint64_t first, uint64_t length);
  [[nodiscard]] managed::Arena& arena() const { return *arena_->arena; }
  [[nodiscard]] uint64_t resident_pages() const { return arena().resident_bytes() / kPage; }
  void Register();
  void Disturb();
  void ChangeBudget();
  void DiscardSome();
  void CheckBudget(uint32_t budget_before, Findings& findings);
  void RunAgent(Findings& findings);

  const Swarm swarm_;
  Endnode& node_;
  const uint32_t slot_bytes_;
  Random random_;
  SwapTrouble trouble_;
  const SlowSwap* swap_ = nullptr;  // the arena's
  QuiescingHost host_;
  std::unique_ptr<GuestAgent> agent_;  // nullptr: it is no guest
  odp::ManagedArena* arena_;
  memory::RegionKeys keys_;
  std::vector<std::byte> contents_;
  std::vector<Slot> slots_;
  uint32_t last_taken_ = 0;
  uint32_t budget_;              // pages
  uint32_t next_budget_;         // from the next run of the pager on
  uint32_t highest_budget_ = 0;  // since the last run of the pager: grants may follow each other
  // After the last run of the pager: pages that use memory, pages that it counts (more while some
  // are being read), and its report about the swap file.
  uint64_t resident_ = 0;
  uint32_t in_memory_ = 0;
  bool was_store_well_ = true;
  bool is_calm_ = false;
  ManagedCounters counters_;
};

}  // namespace verbena::sim
