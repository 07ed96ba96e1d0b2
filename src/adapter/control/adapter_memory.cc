// The calls about memory: operations of the memory core, under the engine's lock.

#include <optional>
#include <variant>

#include "adapter/control/adapter.h"
#include "adapter/control/impl.h"
#include "base/clock.h"
#include "base/page.h"
#include "base/rollback.h"
#include "odp/managed_pages.h"
#include "odp/page_jobs.h"

namespace verbena::adapter {
namespace {

template <class T>
ErrorOr<T> InWords(const memory::MemoryResult<T>& result) {
  if (!result) return Fail(ErrorOf(result.error()));
  return *result;
}
ErrorOr<void> InWords(const memory::MemoryResult<void>& result) {
  if (!result) return Fail(ErrorOf(result.error()));
  return {};
}

// Where the tables must refer to for the bytes of a region. For managed memory this is not the
// address that the program uses.
struct BackingPlace {
  memory::Backing backing;
  odp::ManagedArena* arena = nullptr;  // nullptr: not managed
};

ErrorOr<BackingPlace> PlaceOf(const odp::ManagedPages& managed, const memory::RegionSpec& spec,
                              const memory::Backing& backing) {
  if (const auto* const list = std::get_if<memory::PageListBacking>(&backing)) {
    for (const memory::PhysicalAddress page : list->pages) {
      const auto found = managed.Find(page.value(), list->page_shift.bytes());
      if (found && found->arena == nullptr) continue;
      return Fail(Error{ErrorCode::kInvalid,
                        "managed memory must be registered as one range, not as a page list"});
    }
  }
  if (const auto* const shared = std::get_if<memory::SharedBacking>(&backing)) {
    return BackingPlace{backing, managed.ArenaOf(shared->with)};
  }
  const auto* const linear = std::get_if<memory::LinearBacking>(&backing);
  if (linear == nullptr) return BackingPlace{backing};
  const auto found = managed.Find(linear->base.value(), spec.length);
  if (!found) return Fail(found.error());
  memory::LinearBacking moved = *linear;
  moved.base = found->address;
  moved.guest = found->guest;
  return BackingPlace{moved, found->arena};
}

odp::ManagedPages::RegionRoom RoomOn(odp::ManagedPages& managed, const BackingPlace& place) {
  return place.arena != nullptr ? managed.MakeRoomForRegion() : odp::ManagedPages::RegionRoom();
}

// The old bytes of a region are released before the new ones are counted.
void FinishChange(odp::TakeoverMemory& takeover, Key key, const memory::RegionSpec& spec,
                  const std::optional<memory::Backing>& backing,
                  const ErrorOr<memory::RegionKeys>& made) {
  if (!backing) {
    if (made) takeover.OnRegionRenamed(key, made->local);
    return;
  }
  if (made) takeover.OnRegionEnded(key);
  takeover.Settle(spec, *backing, made);
}

}  // namespace

ErrorOr<odp::ManagedArena*> Adapter::MakeArena(const managed::ArenaOptions& options) {
  if (const auto dead = Dead()) return Fail(*dead);
  const MutexLock registering(impl_->registering);
  if (!impl_->takeover.FitsFloor(paging::kBudgetMin * options.granule.bytes())) {
    return Fail(Error{ErrorCode::kLimit,
                      "the minimum of the guest is too small for one more piece of managed memory "
                      "(Options::guest_min)"});
  }
  const auto made = impl_->engine.paging.managed.Make(options);
  if (made) impl_->takeover.Include(*made, options.budget);
  return made;
}

ErrorOr<void> Adapter::SetBudget(odp::ManagedArena* arena, uint64_t bytes) {
  if (const auto dead = Dead()) return Fail(*dead);
  const MutexLock registering(impl_->registering);
  impl_->takeover.SetLimit(arena, bytes);
  return {};
}

ErrorOr<void> Adapter::Destroy(odp::ManagedArena* arena) {
  if (const auto dead = Dead()) return Fail(*dead);
  const MutexLock registering(impl_->registering);
  auto destroyed = impl_->engine.paging.managed.Destroy(arena);
  if (destroyed) impl_->takeover.Exclude(arena);
  return destroyed;
}

ErrorOr<memory::PdId> Adapter::AllocatePd() {
  if (const auto dead = Dead()) return Fail(*dead);
  const EngineLock lock(impl_->engine);
  return InWords(impl_->engine.memory.domains.Allocate(impl_->consumer));
}

ErrorOr<void> Adapter::DeallocatePd(memory::PdId pd) {
  if (const auto dead = Dead()) return Fail(*dead);
  const EngineLock lock(impl_->engine);
  return InWords(impl_->engine.memory.domains.Deallocate(pd));
}

ErrorOr<memory::RegionKeys> Adapter::RegisterRegion(const memory::RegionSpec& spec,
                                                    const memory::Backing& backing,
                                                    const QuiesceTerms& terms) {
  if (const auto dead = Dead()) return Fail(*dead);
  const MutexLock registering(impl_->registering);
  const auto word = impl_->guest_control.TakeWord(terms);
  if (!word) return Fail(word.error());
  Rollback taken([&] { impl_->guest_control.GiveWord(*word); });
  if (const auto ok = CheckMappings(spec, &backing, {}); !ok) return Fail(ok.error());
  const auto pinned = Pin(spec, &backing);
  if (!pinned) return Fail(pinned.error());
  Rollback pin([&] { Unpin(*pinned); });
  if (const auto ok = impl_->takeover.Prepare(spec, backing); !ok) return Fail(ok.error());
  const auto made = [&]() -> ErrorOr<memory::RegionKeys> {
    Engine& engine = impl_->engine;
    const EngineLock lock(engine);
    engine.ReadClock();
    const auto place = PlaceOf(engine.paging.managed, spec, backing);
    if (!place) return Fail(place.error());
    auto room = RoomOn(engine.paging.managed, *place);
    const auto keys = InWords(engine.memory.regions.Register(spec, place->backing));
    if (keys && place->arena != nullptr) {
      engine.paging.managed.Attach(std::move(room), keys->local, *place->arena);
    }
    return keys;
  }();
  Rollback registered([&]() VERBENA_UNDER_CALLERS_LOCK {
    if (made) static_cast<void>(End(made->local));
  });
  impl_->takeover.Settle(spec, backing, made);
  if (made) {
    impl_->guest_control.Attach(made->local, terms, *word);
    taken.Keep();
  }
  FinishPin(*pinned, made);
  registered.Keep();
  pin.Keep();
  return made;
}

ErrorOr<memory::RegionKeys> Adapter::ReregisterRegion(
    Key key, const memory::RegionSpec& spec, const std::optional<memory::Backing>& backing) {
  if (const auto dead = Dead()) return Fail(*dead);
  const MutexLock registering(impl_->registering);
  const memory::Backing* const moved = backing ? &*backing : nullptr;
  if (const auto ok = CheckMappings(spec, moved, key); !ok) return Fail(ok.error());
  const auto pinned = Pin(spec, moved);
  if (!pinned) return Fail(pinned.error());
  Rollback pin([&] { Unpin(*pinned); });
  if (backing) {
    if (const auto ok = impl_->takeover.Prepare(spec, *backing); !ok) return Fail(ok.error());
  }
  GuestControl::EndedQuiesce quiesce;
  const auto made = [&]() -> ErrorOr<memory::RegionKeys> {
    Engine& engine = impl_->engine;
    const EngineLock lock(engine);
    engine.ReadClock();
    quiesce = impl_->guest_control.EndQuiesce(key);
    if (!backing) {
      const auto keys = InWords(engine.memory.regions.Reregister(key, spec, std::nullopt));
      if (keys) engine.paging.managed.Rekey(key, keys->local);
      return keys;
    }
    const auto place = PlaceOf(engine.paging.managed, spec, *backing);
    if (!place) return Fail(place.error());
    auto room = RoomOn(engine.paging.managed, *place);
    const auto keys = InWords(engine.memory.regions.Reregister(key, spec, place->backing));
    if (!keys) return keys;
    engine.paging.managed.Release(key);
    if (place->arena != nullptr) {
      engine.paging.managed.Attach(std::move(room), keys->local, *place->arena);
    }
    return keys;
  }();
  pin.Keep();
  impl_->guest_control.Announce(key, quiesce);
  if (made) impl_->guest_control.Rekey(key, made->local);
  if (made) backing ? impl_->pinned.Release(key) : impl_->pinned.Rekey(key, made->local);
  FinishChange(impl_->takeover, key, spec, backing, made);
  FinishPin(*pinned, made);
  return made;
}

ErrorOr<void> Adapter::DeregisterRegion(Key key) {
  if (const auto dead = Dead()) return Fail(*dead);
  const MutexLock registering(impl_->registering);
  return End(key);
}

// REQUIRES: `registering` is held. The analysis cannot check it, because Impl is not complete in
// the header.
ErrorOr<void> Adapter::End(Key key) VERBENA_NO_THREAD_SAFETY_ANALYSIS {
  GuestControl::EndedQuiesce quiesce;
  const auto ended = [&] {
    const EngineLock lock(impl_->engine);
    impl_->engine.ReadClock();
    const auto deregistered = InWords(impl_->engine.memory.regions.Deregister(key));
    if (!deregistered) return deregistered;
    impl_->engine.paging.managed.Release(key);
    quiesce = impl_->guest_control.Forget(key);
    return deregistered;
  }();
  impl_->guest_control.Announce(key, quiesce);
  if (ended) impl_->guest_control.Release(key);
  if (ended) impl_->pinned.Release(key);
  if (ended) impl_->takeover.OnRegionEnded(key);
  return ended;
}

// Whether the program has managed memory at this address.
bool Adapter::IsManaged(uint64_t address) {
  const EngineLock lock(impl_->engine);
  const auto found = impl_->engine.paging.managed.Find(address, 1);
  return !found || found->arena != nullptr;
}

// Pins linear memory that is not managed. The pages of a list are not pinned, and the whole address
// space cannot be.
ErrorOr<std::optional<Adapter::PinnedRange>> Adapter::Pin(const memory::RegionSpec& spec,
                                                          const memory::Backing* backing) {
  const auto* const linear = std::get_if<memory::LinearBacking>(backing);
  if (!impl_->options.pin || linear == nullptr || spec.length == 0) return std::nullopt;
  if (IsManaged(linear->base.value())) return std::nullopt;
  const PinnedRange range{linear->base.value(), spec.length};
  if (const auto pinned = impl_->pinned.Pin(range.address, range.length); !pinned) {
    return Fail(pinned.error());
  }
  return range;
}

void Adapter::Unpin(const std::optional<PinnedRange>& range) {
  if (range) impl_->pinned.Unpin(range->address, range->length);
}

// After success the pinned pages belong to the region, and are entered in its table. After a
// failure they are unpinned.
void Adapter::FinishPin(const std::optional<PinnedRange>& range,
                        const ErrorOr<memory::RegionKeys>& made) {
  if (!range) return;
  if (!made) return Unpin(range);
  impl_->pinned.Attach(range->address, range->length, made->local);
  constexpr PageShift kPage(PageShift::kMin);
  odp::PageJob job{.request = {}, .address = RoundDown(range->address, kPage)};
  job.request.fault.region = made->local;
  job.page_count = PageCount(range->address, range->length, kPage);
  // They are present; it remains to be seen whether they are writable.
  for (const bool for_write : {true, false}) {
    job.request.fault.for_write = for_write;
    impl_->pager.PageIn(job);
    if (job.paged_in == job.page_count) break;
  }
  const EngineLock lock(impl_->engine);
  static_cast<void>(MapPages(impl_->engine.memory, impl_->pager.watch(), job, Now()));
}

ErrorOr<memory::RegionKeys> Adapter::ReserveRegion(memory::PdId pd, uint64_t pages_max,
                                                   PageShift page_shift) {
  if (const auto dead = Dead()) return Fail(*dead);
  const uint32_t limit = impl_->options.fast_register_pages;
  if (pages_max > limit) {
    return Fail(LimitError(limit, "pages of a fast registration", "fast_register_pages"));
  }
  const EngineLock lock(impl_->engine);
  impl_->engine.ReadClock();
  return InWords(impl_->engine.memory.regions.Reserve(pd, pages_max, page_shift));
}

ErrorOr<Key> Adapter::AllocateWindow(memory::PdId pd, WindowType type) {
  if (const auto dead = Dead()) return Fail(*dead);
  const EngineLock lock(impl_->engine);
  impl_->engine.ReadClock();
  return InWords(impl_->engine.memory.windows.Allocate(pd, type));
}

ErrorOr<void> Adapter::DeallocateWindow(Key window) {
  if (const auto dead = Dead()) return Fail(*dead);
  const EngineLock lock(impl_->engine);
  impl_->engine.ReadClock();
  return InWords(impl_->engine.memory.windows.Deallocate(window));
}

}  // namespace verbena::adapter
