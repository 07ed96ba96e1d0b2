#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/interval_map.h"
#include "managed/arena_options.h"
#include "memory/protection/regions.h"
#include "odp/budget_division.h"
#include "odp/locked_tables.h"
#include "odp/managed_pages.h"
#include "verbena/counters.h"
#include "verbena/numbers.h"

namespace verbena::odp {

// Puts the memory that a program registers under a budget: an arena takes the memory over at the
// first registration, and returns it to the program after the last deregistration. Memory that
// cannot be taken over stays native, with one warning for each reason; with `strict` its
// registration fails.
//
// The budget is divided among the arenas. After SetBudget the process is a guest, whose budget
// covers all of its managed memory: then arenas that the program created have a share as well, at
// most the limit that the program gave them.
//
// Takes over nothing without the option. Owned by the adapter. Thread rule: one thread at a time,
// under the adapter's registration lock and not under the engine's.
class TakeoverMemory {
 public:
  // An arena has a thread and a swap file.
  static constexpr size_t kArenasMax = 64;

  // `bytes` 0: no budget; `swap` is a file or folder.
  struct Budget {
    uint64_t bytes = 0;
    std::string swap;
    bool strict = false;
    uint64_t floor = 0;  // of a guest: the smallest budget that it is ever given; 0: none
  };
  TakeoverMemory(LockedTables& tables, ManagedPages& managed, Budget budget);
  TakeoverMemory(const TakeoverMemory&) = delete;
  TakeoverMemory& operator=(const TakeoverMemory&) = delete;
  // REQUIRES: ReleaseAll was called.
  ~TakeoverMemory();

  // A region is about to be registered on these bytes. Fails if it would be outside a strict
  // budget. Memory that is too small to be taken over is outside any budget.
  [[nodiscard]] ErrorOr<void> Prepare(const memory::RegionSpec& spec,
                                      const memory::Backing& backing);
  // The registration has succeeded, or failed (no key). Native bytes are recorded: they must not
  // become managed as long as a region names them by the program's address.
  void Settle(const memory::RegionSpec& spec, const memory::Backing& backing,
              const ErrorOr<memory::RegionKeys>& made);
  // A region was deregistered or has changed its key.
  void OnRegionEnded(Key region);
  void OnRegionRenamed(Key from, Key to);

  // Includes an arena that the program created, which may have `limit` bytes in memory.
  void Include(ManagedArena* arena, uint64_t limit);
  void SetLimit(ManagedArena* arena, uint64_t limit);
  void Exclude(const ManagedArena* arena);

  // Takes effect soon. REFUSES a budget that is too small for the existing arenas.
  [[nodiscard]] ErrorOr<void> SetBudget(uint64_t bytes);
  [[nodiscard]] uint64_t budget() const { return budget_; }
  // Totals of all managed memory of the process.
  struct Use {
    uint64_t resident = 0;  // bytes in memory
    uint64_t swapped = 0;   // bytes in swap files
    uint64_t faults = 0;    // accesses to pages that were not in memory
  };
  [[nodiscard]] Use QueryUse() const;
  // Calls fn(arena) for each arena.
  template <class Fn>
  void ForEachArena(Fn fn) const {
    for (const ManagedArena* const arena : arenas_) fn(*arena);
    for (const Own& own : own_) fn(*own.arena);
  }
  // Whether there may be one more arena with a minimum of `least` bytes: in a guest, the sum of the
  // minima must not exceed the guest's own.
  [[nodiscard]] bool FitsFloor(uint64_t least) const;
  // Bytes in memory, of all managed memory of the process.
  [[nodiscard]] uint64_t resident_bytes() const;
  [[nodiscard]] uint64_t managed_bytes() const;

  // The adapter ends: returns all memory to the program, even with regions on it. REQUIRES: the
  // engine has stopped.
  void ReleaseAll();

  [[nodiscard]] BudgetCounters counters() const;

 private:
  [[nodiscard]] const char* WhyNoMore() const;
  [[nodiscard]] ErrorOr<void> TryTakeOver(std::span<std::byte> pages);
  [[nodiscard]] bool IsManaged(std::span<const std::byte> bytes) const;
  [[nodiscard]] bool IsOurs(std::span<const std::byte> pages) const;
  [[nodiscard]] bool IsNamed(std::span<const std::byte> pages) const;
  // An arena that the program created.
  struct Own {
    ManagedArena* arena = nullptr;
    uint64_t limit = 0;
    [[nodiscard]] ArenaDemand demand() const;
  };
  [[nodiscard]] uint64_t Least() const;
  BudgetDivision Divide(uint64_t also_size);
  void AwaitShares(const BudgetDivision& division) const;
  void MapWhatIsThere(const memory::RegionSpec& spec, std::span<const std::byte> bytes, Key region);
  void ReleaseUnused();
  void Release(ManagedArena* arena);
  [[nodiscard]] ErrorOr<void> StayNative(uint64_t length, const std::string& why);

  LockedTables& tables_;
  ManagedPages& managed_;
  uint64_t budget_;
  const bool adopts_;  // whether memory that the program registers is put under the budget
  bool is_guest_ = false;
  const std::string swap_;
  const bool strict_;
  const uint64_t floor_;
  managed::ResidentSum resident_;
  std::vector<ManagedArena*> arenas_;
  std::vector<Own> own_;
  std::unordered_map<Key, std::vector<Interval>> named_;  // native bytes, by region
  std::set<std::string> warned_;
  BudgetCounters past_;  // of destroyed arenas
};

}  // namespace verbena::odp
