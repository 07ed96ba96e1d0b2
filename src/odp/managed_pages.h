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

// An arena of managed memory, with its two views.
struct ManagedArena {
  ManagedArena();
  ManagedArena(const ManagedArena&) = delete;
  ManagedArena& operator=(const ManagedArena&) = delete;
  ~ManagedArena();

  // Exactly one of the two is set.
  std::unique_ptr<managed::Arena> own;
  std::unique_ptr<managed::Takeover> takeover;  // of memory that the program allocated
  managed::Arena* arena = nullptr;
  uint64_t cpu_base = 0;      // in the program's view
  uint64_t adapter_base = 0;  // in the adapter's view
  uint64_t size = 0;
  // the guest whose memory it is: guest-physical address 0 is the first byte
  memory::GuestKey guest;
  uint32_t number = 0;              // unique among all arenas that the adapter ever had
  uint64_t regions = 0;             // number of regions registered on it
  std::vector<Interval> gone = {};  // ranges of the adapter's view that the program has unmapped
  bool all_is_gone = false;  // treat all of it as unmapped: there was no memory to record a range
};

// The managed memory of an adapter. Each arena is the memory of a guest with two stages of
// translation (rows E6 to E9). The first stage of a region names places in the arena and is filled
// at the first access to a page. The second stage says which pages of the arena are in memory, in
// the adapter's view; the arena's thread clears entries before it evicts their pages. So the tables
// alone decide what the adapter touches, whatever the program's view contains, and evicting a page
// clears one entry, however many regions are on it.
//
// Part of the engine and used under its lock, except where a function says otherwise: an arena is
// created and destroyed without the lock, because its thread waits for the lock.
class ManagedPages {
 public:
  // `on_urgent_warning` as in the adapter's options.
  using OnWarning = std::function<void(const std::string& warning)>;
  ManagedPages(LockedTables& tables, PageAnswers& answers, OnWarning on_urgent_warning)
      : tables_(tables), answers_(answers), on_urgent_warning_(std::move(on_urgent_warning)) {}
  ManagedPages(const ManagedPages&) = delete;
  ManagedPages& operator=(const ManagedPages&) = delete;
  // REQUIRES: EndAll was called, if an arena was ever created.
  ~ManagedPages();
  void EndAll() VERBENA_EXCLUDES(tables_);

  // Not under the lock. Uses the system's clock if the options name none.
  [[nodiscard]] ErrorOr<ManagedArena*> Make(managed::ArenaOptions options)
      VERBENA_EXCLUDES(tables_);
  // Not under the lock. REFUSES while a region is registered on it.
  [[nodiscard]] ErrorOr<void> Destroy(ManagedArena* arena) VERBENA_EXCLUDES(tables_);

  // Not under the lock. Puts the program's memory that `options.adopts` names under the arena's
  // management; after a failure the memory is unchanged. REQUIRES: no region names its bytes, and
  // no other thread registers one meanwhile.
  [[nodiscard]] ErrorOr<ManagedArena*> TakeOver(managed::ArenaOptions options)
      VERBENA_EXCLUDES(tables_);
  // Not under the lock. Returns the memory to the program, and the final counters. REQUIRES: no
  // region is on it, or the engine has stopped; no other thread registers one meanwhile.
  managed::ArenaReport GiveBack(ManagedArena* arena) VERBENA_EXCLUDES(tables_);

  // What the tables must name for `length` bytes of the program at `address`: a place in the memory
  // of a guest if the bytes are managed. REFUSES a range that is only partly managed.
  struct Place {
    memory::PhysicalAddress address;
    memory::GuestKey guest;
    ManagedArena* arena = nullptr;  // nullptr: not managed
  };
  [[nodiscard]] ErrorOr<Place> Find(uint64_t address, uint64_t length) const;
  // Whether the machine address belongs to an arena.
  [[nodiscard]] bool Covers(uint64_t address) const { return FindArena(address) != nullptr; }

  // A map node for one more region, allocated before the region is registered so that Attach cannot
  // fail.
  using RegionRoom = std::unordered_map<Key, ManagedArena*>::node_type;
  [[nodiscard]] RegionRoom MakeRoomForRegion();
  // A region on the arena was registered, or may have been deregistered.
  void Attach(RegionRoom room, Key region, ManagedArena& arena);
  // The arena that the region is on; nullptr if none.
  [[nodiscard]] ManagedArena* ArenaOf(Key region) const;
  void Release(Key region);
  void Rekey(Key from, Key to);
  // Calls fn(key, arena) for each region on an arena.
  template <class Fn>
  void ForEachRegion(Fn fn) const {
    for (const auto& [key, arena] : regions_) fn(key, *arena);
  }

  // Quiesces the region or a part of it: its pages are no longer paged in for the adapter, and jobs
  // for them wait, or are refused if `pages` says so. The arena keeps the memory. REQUIRES: no part
  // of the region is quiesced.
  void TakeAway(Key region, QuiescedRegion pages) { quiesced_.Add(region, std::move(pages)); }
  // Ends the quiesce: waiting jobs continue in order. If the region was deregistered, they are
  // refused.
  void GiveBackTo(Key region);
  // Pages in these offsets of the region's arena, as far as the budget allows.
  void Prefetch(Key region, const ManagedArena& arena, Interval pages);
  [[nodiscard]] const QuiescedRegion* FindQuiesced(Key region) const {
    return quiesced_.Find(region);
  }
  // `on_awaited` is called with the engine's lock held, when the first job waits for a region;
  // `on_swapped_out` without the lock, on the pager thread: see managed::ArenaCallbacks.
  struct QuiesceCallbacks {
    std::function<void(Key region)> on_awaited;
    std::function<void(uint64_t ticket, uint64_t bytes)> on_swapped_out;
  };
  // The process as a consumer. It gets a segment for each arena from then on, so that regions of
  // its address space reach the arena (row A7). To be called before the first arena; without it
  // there are no segments.
  void set_consumer(memory::ConsumerId consumer) { consumer_ = consumer; }
  // To be called before the first arena.
  void set_quiesce_callbacks(QuiesceCallbacks callbacks) {
    quiesce_callbacks_ = std::move(callbacks);
  }

  // Empties the job if it is for the program's view: no region on managed memory names that view,
  // and a thread that holds the engine's lock must not wait for an arena, which waits for the lock.
  void RefuseProgramView(PageJob& job) const;
  [[nodiscard]] bool IsProgramView(const PageJob& job) const;
  enum class Asked : uint8_t { kNotManaged, kAsked, kNoMemory };
  // Managed pages are mapped when their job comes back through PageAnswers::TakeDone.
  [[nodiscard]] Asked Submit(const PageJob& job);
  // Submitted jobs that are not answered yet.
  [[nodiscard]] size_t outstanding() const { return pending_.size(); }
  [[nodiscard]] const StageFaults& stage_faults() const { return stage_faults_; }
  // Submits the job and waits until the pages are mapped or refused. Not under the lock. False if
  // the pages are not managed.
  [[nodiscard]] bool PageIn(PageJob& job) VERBENA_EXCLUDES(tables_);

  // Reports a warning at once, from a thread that must not wait for the program. Not under the
  // lock.
  void Warn(const std::string& warning) VERBENA_EXCLUDES(tables_);
  // Keeps a one-line warning, to be returned once. Keeps at most kWarningsMax.
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
