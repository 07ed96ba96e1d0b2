// The part of managed_pages.h that creates and destroys arenas.

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/rollback.h"
#include "base/when_memory.h"
#include "managed/takeover.h"
#include "odp/managed_pages.h"

namespace verbena::odp {
namespace {

// Calls fn(first, last) for the arena's range in the program's view, and for that in the adapter's.
template <class Fn>
void ForEachView(const ManagedArena& arena, Fn fn) {
  for (const uint64_t base : {arena.cpu_base, arena.adapter_base}) {
    fn(memory::MachineAddress(base), memory::MachineAddress(base + arena.size - 1));
  }
}

}  // namespace

managed::ArenaCallbacks ManagedPages::Callbacks() {
  return {
      .on_ready = [this](uint64_t ticket,
                         const managed::Answer& answer) { OnReady(ticket, answer); },
      .unmap_adapter = [this](std::span<const std::span<std::byte>> ranges) { OnUnmap(ranges); },
      .on_swapped_out = quiesce_callbacks_.on_swapped_out,
      .on_store = [this](paging::StoreReport report) { OnStore(report); },
      .on_gone = [this](const std::byte* first, const std::byte* last) { OnGone(first, last); }};
}

ErrorOr<ManagedArena*> ManagedPages::Add(std::unique_ptr<ManagedArena> arena) {
  tables_.AssertHeld();
  arena->cpu_base = memory::MachineAddressOf(arena->arena->bytes().data()).value();
  arena->adapter_base = memory::MachineAddressOf(arena->arena->adapter_base()).value();
  arena->size = arena->arena->bytes().size();
  arenas_.reserve(arenas_.size() + 1);
  arena->number = ++last_number_;
  const auto guest =
      tables_.memory.guests.Create({.memory_bytes = arena->size,
                                    .attributes = arena->number,
                                    .base = memory::MachineAddress(arena->adapter_base)});
  if (!guest) {
    return Fail(Error{ErrorCode::kLimit,
                      "there are too many pieces of managed memory, or this one "
                      "is too large"});
  }
  arena->guest = *guest;
  Rollback created([&]() VERBENA_UNDER_CALLERS_LOCK {
    static_cast<void>(tables_.memory.guests.Destroy(*guest));
  });
  // Page lists may name neither view. A thread that holds the engine's lock must never wait for the
  // program's view; and the adapter's view may be touched only where a region of the arena allows
  // it.
  size_t kept = 0;
  Rollback views([&] {
    ForEachView(*arena, [&](memory::MachineAddress first, memory::MachineAddress last) {
      tables_.AssertHeld();
      if (kept > 0) tables_.memory.AllowInLists(first, last);
      if (kept > 0) --kept;
    });
  });
  ForEachView(*arena, [&](memory::MachineAddress first, memory::MachineAddress last) {
    tables_.AssertHeld();
    tables_.memory.ForbidInLists(first, last);
    ++kept;
  });
  if (!UpdateSegments(memory::SegmentChange::kAdd, *arena, {0, arena->size - 1})) {
    return Fail(Error{ErrorCode::kInUse, "other managed memory is at the same addresses"});
  }
  views.Keep();
  created.Keep();
  arenas_.push_back(std::move(arena));
  return arenas_.back().get();
}

// Updates the segments for these bytes of the arena. True if there are no segments to update.
bool ManagedPages::UpdateSegments(memory::SegmentChange change, const ManagedArena& arena,
                                  Interval bytes) {
  tables_.AssertHeld();
  if (consumer_ == memory::ConsumerId()) return true;
  const memory::Segment segment{.start = memory::EffectiveAddress(arena.cpu_base + bytes.first),
                                .length = bytes.last - bytes.first + 1,
                                .base = memory::VirtualAddress(bytes.first),
                                .rights = Access::kLocalRead | Access::kLocalWrite,
                                .guest = arena.guest};
  return tables_.memory.consumers.SegmentTableUpdate(consumer_, change, segment).has_value();
}

ErrorOr<ManagedArena*> ManagedPages::Make(managed::ArenaOptions options) {
  if (!options.now) options.now = &Now;
  auto made = managed::Arena::Make(options, Callbacks());
  if (!made) return Fail(made.error());
  auto arena = std::make_unique<ManagedArena>();
  arena->own = std::move(*made);
  arena->arena = arena->own.get();
  const TablesLock lock(tables_);
  return Add(std::move(arena));
}

// The arena is in the tables before it manages the memory, and the tables drop the pages they have
// of it: so a thread that holds the engine's lock never touches these bytes at the program's
// address, and does not wait.
ErrorOr<ManagedArena*> ManagedPages::TakeOver(managed::ArenaOptions options) {
  options.now = &Now;
  auto prepared = managed::Takeover::Prepare(options, Callbacks());
  if (!prepared) return Fail(prepared.error());
  auto prepared_arena = std::make_unique<ManagedArena>();
  prepared_arena->takeover = std::move(*prepared);
  prepared_arena->arena = &prepared_arena->takeover->arena();
  ManagedArena* arena = nullptr;
  {
    const TablesLock lock(tables_);
    const auto added = Add(std::move(prepared_arena));
    if (!added) return Fail(added.error());
    arena = *added;
    tables_.memory.InvalidateMachine(memory::MachineAddress(arena->cpu_base),
                                     memory::MachineAddress(arena->cpu_base + arena->size - 1));
  }
  const auto taken = arena->takeover->Take();
  if (taken) return arena;
  std::unique_ptr<ManagedArena> removed;
  const TablesLock lock(tables_);
  removed = Remove(arena);
  return Fail(taken.error());
}

managed::ArenaReport ManagedPages::GiveBack(ManagedArena* arena) {
  const uint64_t lost = arena->takeover->GiveBack();
  const managed::ArenaReport report = arena->arena->report();
  std::unique_ptr<ManagedArena> removed;
  const TablesLock lock(tables_);
  removed = Remove(arena);
  if (lost > 0) {
    static_cast<void>(WhenMemory([&]() VERBENA_UNDER_CALLERS_LOCK {
      AddWarning("the swap file has lost " + std::to_string(lost) +
                 " bytes of a region's memory: the program gets SIGSEGV where it touches them");
    }));
  }
  return report;
}

std::unique_ptr<ManagedArena> ManagedPages::Remove(const ManagedArena* arena) {
  tables_.AssertHeld();
  const auto found = std::ranges::find(arenas_, arena, &std::unique_ptr<ManagedArena>::get);
  CHECK(found != arenas_.end());
  std::unique_ptr<ManagedArena> removed = std::move(*found);
  arenas_.erase(found);
  ForEachView(*removed, [this](memory::MachineAddress first, memory::MachineAddress last) {
    tables_.AssertHeld();
    tables_.memory.AllowInLists(first, last);
  });
  static_cast<void>(
      UpdateSegments(memory::SegmentChange::kDelete, *removed, {0, removed->size - 1}));
  // Regions that are still on it become unusable: a key whose guest was destroyed is refused.
  CHECK(tables_.memory.guests.Destroy(removed->guest).has_value());
  // Jobs that wait for its pages are refused.
  quiesced_.TakeAllParked([&](const ParkedJob& parked) {
    if (removed->adapter_base <= parked.job.address &&
        parked.job.address - removed->adapter_base < removed->size) {
      Finish({parked.job, parked.waiter, removed.get()});
    } else {
      static_cast<void>(IsParked({parked.job, parked.waiter, FindArena(parked.job.address)}));
    }
  });
  for (auto at = pending_.begin(); at != pending_.end();) {
    if (at->second.arena != arena) {
      ++at;
      continue;
    }
    const Pending pending = at->second;
    at = pending_.erase(at);
    Finish(pending);
  }
  return removed;
}

ErrorOr<void> ManagedPages::Destroy(ManagedArena* arena) {
  std::unique_ptr<ManagedArena> removed;
  {
    const TablesLock lock(tables_);
    if (arena->regions > 0) {
      return Fail(Error{ErrorCode::kInUse, "a region is registered on the managed memory"});
    }
    removed = Remove(arena);
  }
  return {};
}

// One at a time: the threads of an arena may need the lock in order to end, and collecting the
// arenas in a list would need memory.
void ManagedPages::EndAll() {
  while (true) {
    std::unique_ptr<ManagedArena> ended;
    const TablesLock lock(tables_);
    if (arenas_.empty()) return;
    ended = Remove(arenas_.back().get());
  }
}

}  // namespace verbena::odp
