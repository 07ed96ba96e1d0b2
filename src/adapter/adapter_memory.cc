// The calls about memory: the engine's lock around what the memory core does.

#include <optional>
#include <variant>

#include "adapter/adapter.h"
#include "adapter/managed_pages.h"
#include "adapter/parts.h"

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

// Where the tables must look for the bytes of a region, which for managed memory is not where the
// program sees them.
struct BackingPlace {
  memory::Backing backing;
  ManagedArena* arena = nullptr;  // nullptr: not managed
};

ErrorOr<BackingPlace> PlaceOf(const ManagedPages& managed, const memory::RegionSpec& spec,
                              const memory::Backing& backing) {
  if (const auto* const list = std::get_if<memory::PageListBacking>(&backing)) {
    for (const memory::PhysicalAddress page : list->pages) {
      const auto found = managed.Find(page.value(), list->page_shift.bytes());
      if (found && found->arena == nullptr) continue;
      return Fail(Error{ErrorCode::kInvalid, "managed memory is registered in one piece only"});
    }
  }
  const auto* const linear = std::get_if<memory::LinearBacking>(&backing);
  if (linear == nullptr) return BackingPlace{backing};
  const auto found = managed.Find(linear->base.value(), spec.length);
  if (!found) return Fail(found.error());
  memory::LinearBacking moved = *linear;
  moved.base = memory::PhysicalAddress(found->address);
  return BackingPlace{moved, found->arena};
}

}  // namespace

ErrorOr<ManagedArena*> Adapter::MakeArena(const managed::ArenaOptions& options) {
  if (const auto dead = Dead()) return Fail(*dead);
  return parts_->engine.managed.Make(options);
}

ErrorOr<void> Adapter::Destroy(ManagedArena* arena) {
  if (const auto dead = Dead()) return Fail(*dead);
  return parts_->engine.managed.Destroy(arena);
}

ErrorOr<memory::PdId> Adapter::AllocatePd() {
  if (const auto dead = Dead()) return Fail(*dead);
  const EngineLock lock(parts_->engine);
  return InWords(parts_->engine.memory.domains.Allocate(parts_->consumer));
}

ErrorOr<void> Adapter::DeallocatePd(memory::PdId pd) {
  if (const auto dead = Dead()) return Fail(*dead);
  const EngineLock lock(parts_->engine);
  return InWords(parts_->engine.memory.domains.Deallocate(pd));
}

ErrorOr<memory::RegionKeys> Adapter::RegisterRegion(const memory::RegionSpec& spec,
                                                    const memory::Backing& backing) {
  if (const auto dead = Dead()) return Fail(*dead);
  Engine& engine = parts_->engine;
  const EngineLock lock(engine);
  const auto place = PlaceOf(engine.managed, spec, backing);
  if (!place) return Fail(place.error());
  const auto keys = InWords(engine.memory.regions.Register(spec, place->backing));
  if (keys && place->arena != nullptr) engine.managed.Belong(keys->local, *place->arena);
  return keys;
}

ErrorOr<memory::RegionKeys> Adapter::ReregisterRegion(
    memory::Key key, const memory::RegionSpec& spec,
    const std::optional<memory::Backing>& backing) {
  if (const auto dead = Dead()) return Fail(*dead);
  Engine& engine = parts_->engine;
  const EngineLock lock(engine);
  if (!backing) {
    const auto keys = InWords(engine.memory.regions.Reregister(key, spec, std::nullopt));
    if (keys) engine.managed.Rename(key, keys->local);
    return keys;
  }
  const auto place = PlaceOf(engine.managed, spec, *backing);
  if (!place) return Fail(place.error());
  const auto keys = InWords(engine.memory.regions.Reregister(key, spec, place->backing));
  if (!keys) return keys;
  engine.managed.Release(key);
  if (place->arena != nullptr) engine.managed.Belong(keys->local, *place->arena);
  return keys;
}

ErrorOr<void> Adapter::DeregisterRegion(memory::Key key) {
  if (const auto dead = Dead()) return Fail(*dead);
  const EngineLock lock(parts_->engine);
  const auto ended = InWords(parts_->engine.memory.regions.Deregister(key));
  if (ended) parts_->engine.managed.Release(key);
  return ended;
}

ErrorOr<memory::RegionKeys> Adapter::ReserveRegion(memory::PdId pd, uint64_t pages_max,
                                                   PageShift page_shift) {
  if (const auto dead = Dead()) return Fail(*dead);
  const uint32_t limit = parts_->options.fast_register_pages;
  if (pages_max > limit) {
    return Fail(LimitError(limit, "pages of a fast registration", "fast_register_pages"));
  }
  const EngineLock lock(parts_->engine);
  return InWords(parts_->engine.memory.regions.Reserve(pd, pages_max, page_shift));
}

ErrorOr<memory::Key> Adapter::AllocateWindow(memory::PdId pd, memory::WindowType type) {
  if (const auto dead = Dead()) return Fail(*dead);
  const EngineLock lock(parts_->engine);
  return InWords(parts_->engine.memory.windows.Allocate(pd, type));
}

ErrorOr<void> Adapter::DeallocateWindow(memory::Key window) {
  if (const auto dead = Dead()) return Fail(*dead);
  const EngineLock lock(parts_->engine);
  return InWords(parts_->engine.memory.windows.Deallocate(window));
}

}  // namespace verbena::adapter
