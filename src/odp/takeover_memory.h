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
#include "odp/locked_tables.h"
#include "odp/managed_pages.h"
#include "verbena/counters.h"
#include "verbena/numbers.h"

namespace verbena::odp {

// Puts the memory that a program registers under a budget: it is adopted when the first region is
// registered on it, and the program's own again when the last one is gone. What cannot be adopted
// stays native, and a note says why, once for each reason; or, with `strict`, is not registered.
//
// The budget is divided among the adopted arenas: each has what an arena cannot do without, and of
// the rest a part as large as it is. Once SetBudget was called the process is a guest, whose budget
// is for all of its managed memory: then the arenas that the program made itself have a share, too,
// and none more than the program gave it.
//
// Adopts nothing without the option. Owned by the adapter. Thread rule: one thread at a time, under
// the adapter's lock of registrations and not under the engine's.
class TakeoverMemory {
 public:
  // Each has a thread and a swap file.
  static constexpr size_t kArenasMax = 64;

  // `bytes` 0: none; `swap` a file or folder.
  struct Budget {
    uint64_t bytes = 0;
    std::string swap;
    bool strict = false;
    uint64_t floor = 0;  // of a guest, whose budget is never set below it; 0: of none
  };
  TakeoverMemory(LockedTables& tables, ManagedPages& managed, Budget budget);
  TakeoverMemory(const TakeoverMemory&) = delete;
  TakeoverMemory& operator=(const TakeoverMemory&) = delete;
  // REQUIRES: ReleaseAll was called.
  ~TakeoverMemory();

  // A region is about to be registered on these bytes. Fails if it must not be: it would be outside
  // a strict budget. Memory too small to be adopted is outside any.
  [[nodiscard]] ErrorOr<void> Prepare(const memory::RegionSpec& spec,
                                      const memory::Backing& backing);
  // It was, or it was not (no key). Native bytes are remembered: as long as a region names them by
  // the program's address they must not become managed.
  void Settle(const memory::RegionSpec& spec, const memory::Backing& backing,
              const ErrorOr<memory::RegionKeys>& made);
  // One has gone, or changed its key.
  void OnRegionEnded(Key region);
  void OnRegionRenamed(Key from, Key to);

  // An arena of the program's own making, which may have `limit` bytes in memory.
  void Include(ManagedArena* arena, uint64_t limit);
  void SetLimit(ManagedArena* arena, uint64_t limit);
  void Exclude(const ManagedArena* arena);

  // Takes effect soon. REFUSES what is too little for the arenas that there are.
  [[nodiscard]] ErrorOr<void> SetBudget(uint64_t bytes);
  [[nodiscard]] uint64_t budget() const { return budget_; }
  // What all managed memory of the process does, and where it is.
  struct Use {
    uint64_t resident = 0;  // bytes in memory
    uint64_t swapped = 0;   // bytes in swap files
    uint64_t faults = 0;    // pages that were not in memory when they were needed
  };
  [[nodiscard]] Use QueryUse() const;
  // Calls fn(arena) for all of it.
  template <class Fn>
  void ForEachArena(Fn fn) const {
    for (const ManagedArena* const arena : arenas_) fn(*arena);
    for (const Own& own : own_) fn(*own.arena);
  }
  // Whether an arena that cannot do without `least` bytes can be had: in a guest, all of them
  // together must not need more than its minimum.
  [[nodiscard]] bool FitsFloor(uint64_t least) const;
  // In memory now, of all managed memory of the process.
  [[nodiscard]] uint64_t resident_bytes() const;
  [[nodiscard]] uint64_t managed_bytes() const;

  // The adapter ends: all of it is the program's own again, whatever is registered on it. REQUIRES:
  // the engine runs no more.
  void ReleaseAll();

  [[nodiscard]] BudgetCounters counters() const;

 private:
  [[nodiscard]] const char* WhyNoMore() const;
  [[nodiscard]] ErrorOr<void> TryTakeOver(std::span<std::byte> pages);
  [[nodiscard]] bool IsManaged(std::span<const std::byte> bytes) const;
  [[nodiscard]] bool IsOurs(std::span<const std::byte> pages) const;
  [[nodiscard]] bool IsNamed(std::span<const std::byte> pages) const;
  // What the budget is divided by.
  struct Division {
    uint64_t total = 0;  // bytes
    uint64_t least = 0;  // what all of them cannot do without, in bytes
  };
  // An arena that the program made.
  struct Own {
    ManagedArena* arena = nullptr;
    uint64_t limit = 0;
  };
  [[nodiscard]] uint64_t Least() const;
  [[nodiscard]] uint64_t ShareOf(uint64_t size, uint64_t least, const Division& division) const;
  Division Divide(uint64_t also_size);
  void AwaitShares(const Division& division) const;
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
  BudgetCounters past_;  // of arenas that are no more
};

}  // namespace verbena::odp
