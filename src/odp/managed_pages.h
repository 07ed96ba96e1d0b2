#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/interval_map.h"
#include "base/mutex.h"
#include "managed/arena.h"
#include "memory/memory_core.h"
#include "memory/protection/regions.h"
#include "odp/guest_stages.h"
#include "odp/locked_tables.h"
#include "odp/page_answers.h"
#include "odp/page_job.h"
#include "odp/quiesced_regions.h"
#include "verbena/numbers.h"

namespace verbena::managed {
class Takeover;
}

namespace verbena::odp {

// An arena of managed memory, and where it is.
struct ManagedArena {
  ManagedArena();
  ManagedArena(const ManagedArena&) = delete;
  ManagedArena& operator=(const ManagedArena&) = delete;
  ~ManagedArena();

  // One of the two.
  std::unique_ptr<managed::Arena> own;
  std::unique_ptr<managed::Takeover> takeover;  // of memory that the program had before
  managed::Arena* arena = nullptr;
  uint64_t cpu_base = 0;      // where the program sees it
  uint64_t adapter_base = 0;  // where the adapter touches it
  uint64_t size = 0;
  memory::GuestKey guest;  // the arena is its memory: guest-physical address 0 is the first byte
  uint32_t number = 0;     // never that of another arena of the adapter
  uint64_t regions = 0;    // registered on it
  std::vector<Interval> gone = {};  // in the adapter's view: what the program has unmapped
  bool all_is_gone = false;         // as far as is known: there was no memory to note a part of it
};

// The managed memory of an adapter. Each arena is the memory of a guest, in two stages (rows E6 to
// E9): the first stage of a region names places in the arena, and is written here when a page is
// first needed; the second stage says which pages of the arena are in memory, in the adapter's
// view, and is written on the arena's own thread, before it can take them away again. So the tables
// alone decide what the adapter touches, whatever the program's view shows, and a page that leaves
// is one entry, however many regions are on it.
//
// A part of the engine, under its lock, but for what says otherwise: an arena is made and destroyed
// without it, because its thread waits for it.
class ManagedPages {
 public:
  // `on_urgent_warning` as in the adapter's options.
  using OnWarning = std::function<void(const std::string& warning)>;
  ManagedPages(LockedTables& tables, PageAnswers& answers, OnWarning on_urgent_warning)
      : tables_(tables), answers_(answers), on_urgent_warning_(std::move(on_urgent_warning)) {}
  ManagedPages(const ManagedPages&) = delete;
  ManagedPages& operator=(const ManagedPages&) = delete;
  // REQUIRES: EndAll was called, if there ever was an arena.
  ~ManagedPages();
  void EndAll() VERBENA_EXCLUDES(tables_);

  // Not under the lock. The clock is the system's if the options name none.
  [[nodiscard]] ErrorOr<ManagedArena*> Make(managed::ArenaOptions options)
      VERBENA_EXCLUDES(tables_);
  // Not under the lock. REFUSES while a region is registered on it.
  [[nodiscard]] ErrorOr<void> Destroy(ManagedArena* arena) VERBENA_EXCLUDES(tables_);

  // Not under the lock. The program's memory that `options.adopts` names becomes managed, or stays
  // as it was. REQUIRES: no region names its bytes; no other thread registers any meanwhile.
  [[nodiscard]] ErrorOr<ManagedArena*> TakeOver(managed::ArenaOptions options)
      VERBENA_EXCLUDES(tables_);
  // Not under the lock. The program's own again; how things were in the end. REQUIRES: no region is
  // on it, or the engine runs no more; no other thread registers any meanwhile.
  managed::ArenaReport GiveBack(ManagedArena* arena) VERBENA_EXCLUDES(tables_);

  // What the tables must name for `length` bytes of the program at `address`: a place in the memory
  // of a guest if they are managed. REFUSES bytes of which only some are.
  struct Place {
    memory::PhysicalAddress address;
    memory::GuestKey guest;
    ManagedArena* arena = nullptr;  // nullptr: not managed
  };
  [[nodiscard]] ErrorOr<Place> Find(uint64_t address, uint64_t length) const;
  // Whether the machine address is of an arena.
  [[nodiscard]] bool Covers(uint64_t address) const { return FindArena(address) != nullptr; }

  // Room for one more region, to be found before the region is registered.
  using RegionRoom = std::unordered_map<Key, ManagedArena*>::node_type;
  [[nodiscard]] RegionRoom MakeRoomForRegion();
  // A region that lies on it has come, or may have gone.
  void Attach(RegionRoom room, Key region, ManagedArena& arena);
  // The one that the region lies on; nullptr if on none.
  [[nodiscard]] ManagedArena* ArenaOf(Key region) const;
  void Release(Key region);
  void Rekey(Key from, Key to);
  // Calls fn(key, arena) for each region that lies on one.
  template <class Fn>
  void ForEachRegion(Fn fn) const {
    for (const auto& [key, arena] : regions_) fn(key, *arena);
  }

  // The region, or a part of it, is out: its pages come in for the adapter no more, and jobs for
  // them wait, or are refused if it says so. The arena still has their memory. REQUIRES: it is in.
  void TakeAway(Key region, QuiescedRegion pages) { quiesced_.Add(region, std::move(pages)); }
  // It is in again: what waited for it goes on, first come first. Or it has ended: what waited for
  // it is refused.
  void GiveBackTo(Key region);
  // Brings pages of the region, at these offsets in its arena, as many as its budget allows.
  void Prefetch(Key region, const ManagedArena& arena, Interval pages);
  [[nodiscard]] const QuiescedRegion* FindQuiesced(Key region) const {
    return quiesced_.Find(region);
  }
  // `on_awaited` is called with the engine's lock held, when the first job waits for a region;
  // `on_swapped_out` without, on the pager thread: see managed::ArenaCallbacks.
  struct QuiesceCallbacks {
    std::function<void(Key region)> on_awaited;
    std::function<void(uint64_t ticket, uint64_t bytes)> on_swapped_out;
  };
  // The process, which has a segment for each arena from now on, so that regions of its address
  // space reach it (row A7). Before the first arena; without it there is none.
  void set_consumer(memory::ConsumerId consumer) { consumer_ = consumer; }
  // Before the first arena.
  void set_quiesce_callbacks(QuiesceCallbacks callbacks) {
    quiesce_callbacks_ = std::move(callbacks);
  }

  // The job is for nothing if it is for the program's view: what names it is no region on managed
  // memory, and a thread that has the engine's lock must not wait for an arena, which waits for it.
  void RefuseProgramView(PageJob& job) const;
  [[nodiscard]] bool IsProgramView(const PageJob& job) const;
  enum class Asked : uint8_t { kNotManaged, kAsked, kNoMemory };
  // Managed pages come back through PageAnswers::TakeDone, mapped.
  [[nodiscard]] Asked Submit(const PageJob& job);
  // Of those asked for, jobs whose answer has not come.
  [[nodiscard]] size_t outstanding() const { return pending_.size(); }
  [[nodiscard]] const StageFaults& stage_faults() const { return stage_faults_; }
  // The same as Submit, and waits until they are mapped, or refused. Not under the lock. False if
  // they are not managed.
  [[nodiscard]] bool PageIn(PageJob& job) VERBENA_EXCLUDES(tables_);

  // What the user should know at once, from a thread that must not wait for the program. Not under
  // the lock.
  void Warn(const std::string& warning) VERBENA_EXCLUDES(tables_);
  // What the user should know, one line each, returned once. A few are kept.
  void AddWarning(std::string_view warning);
  [[nodiscard]] std::vector<std::string> TakeWarnings() { return std::exchange(warnings_, {}); }

 private:
  struct Pending {
    PageJob job;
    PageWaiter* waiter = nullptr;
    const ManagedArena* arena = nullptr;
  };

  [[nodiscard]] ManagedArena* FindArena(uint64_t address) const;
  [[nodiscard]] ManagedArena* ArenaOf(memory::GuestKey guest) const;
  [[nodiscard]] managed::ArenaCallbacks Callbacks();
  [[nodiscard]] ErrorOr<ManagedArena*> Add(std::unique_ptr<ManagedArena> arena);
  Asked Ask(const PageJob& job, PageWaiter* waiter);
  Asked Serve(Pending pending, ManagedArena& arena);
  [[nodiscard]] bool IsServedByTables(Pending& pending);
  Asked AskArena(const Pending& pending, ManagedArena& arena);
  [[nodiscard]] bool IsParked(const Pending& pending);
  [[nodiscard]] bool PageInSome(PageJob& job) VERBENA_EXCLUDES(tables_);
  void OnReady(uint64_t ticket, const managed::Answer& answer) VERBENA_EXCLUDES(tables_);
  void OnUnmap(std::span<const std::span<std::byte>> ranges) VERBENA_EXCLUDES(tables_);
  void OnGone(const std::byte* first, const std::byte* last) VERBENA_EXCLUDES(tables_);
  void OnStore(paging::StoreReport report) VERBENA_EXCLUDES(tables_);
  void Finish(const Pending& pending);
  std::unique_ptr<ManagedArena> Remove(const ManagedArena* arena);
  [[nodiscard]] bool UpdateSegments(memory::SegmentChange change, const ManagedArena& arena,
                                    Interval bytes);

  LockedTables& tables_;
  PageAnswers& answers_;
  const OnWarning on_urgent_warning_;
  std::atomic<size_t> urgent_warnings_ = 0;
  std::vector<std::unique_ptr<ManagedArena>> arenas_;
  std::unordered_map<uint64_t, Pending> pending_;  // by ticket
  std::unordered_map<Key, ManagedArena*> regions_;
  QuiescedRegions quiesced_;
  QuiesceCallbacks quiesce_callbacks_;
  uint64_t last_ticket_ = 0;
  uint32_t last_number_ = 0;
  memory::ConsumerId consumer_;
  StageFaults stage_faults_;
  std::vector<std::string> warnings_;
};

}  // namespace verbena::odp
