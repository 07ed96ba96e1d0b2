// The calls about memory: the engine's lock around what the memory core does.

#include <optional>
#include <variant>

#include "adapter/adapter.h"
#include "adapter/clock.h"
#include "adapter/page_jobs.h"
#include "adapter/parts.h"
#include "base/page.h"

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

}  // namespace

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
  const auto pinned = Pin(spec, &backing);
  if (!pinned) return Fail(pinned.error());
  const auto made = [&] {
    const EngineLock lock(parts_->engine);
    return InWords(parts_->engine.memory.regions.Register(spec, backing));
  }();
  SettlePin(*pinned, made);
  return made;
}

ErrorOr<memory::RegionKeys> Adapter::ReregisterRegion(
    memory::Key key, const memory::RegionSpec& spec,
    const std::optional<memory::Backing>& backing) {
  if (const auto dead = Dead()) return Fail(*dead);
  const auto pinned = Pin(spec, backing ? &*backing : nullptr);
  if (!pinned) return Fail(pinned.error());
  const auto made = [&] {
    const EngineLock lock(parts_->engine);
    return InWords(parts_->engine.memory.regions.Reregister(key, spec, backing));
  }();
  if (made) backing ? parts_->pinned.Release(key) : parts_->pinned.Rename(key, made->local);
  SettlePin(*pinned, made);
  return made;
}

ErrorOr<void> Adapter::DeregisterRegion(memory::Key key) {
  if (const auto dead = Dead()) return Fail(*dead);
  const auto ended = [&] {
    const EngineLock lock(parts_->engine);
    return InWords(parts_->engine.memory.regions.Deregister(key));
  }();
  if (ended) parts_->pinned.Release(key);
  return ended;
}

// Only memory in one piece: the pages of a list are wherever they are, and all of the address space
// is more than anybody has.
ErrorOr<std::optional<Adapter::PinnedRange>> Adapter::Pin(const memory::RegionSpec& spec,
                                                          const memory::Backing* backing) {
  const auto* const linear = std::get_if<memory::LinearBacking>(backing);
  if (!parts_->options.pin || linear == nullptr || spec.length == 0) return std::nullopt;
  const PinnedRange range{linear->base.value(), spec.length};
  if (const auto pinned = parts_->pinned.Pin(range.address, range.length); !pinned) {
    return Fail(pinned.error());
  }
  return range;
}

// The pages that were pinned for it are the region's, and in its table; or they are given back.
void Adapter::SettlePin(const std::optional<PinnedRange>& range,
                        const ErrorOr<memory::RegionKeys>& made) {
  if (!range) return;
  if (!made) return parts_->pinned.Unpin(range->address, range->length);
  parts_->pinned.Belong(range->address, range->length, made->local);
  constexpr PageShift kPage(PageShift::kMin);
  PageJob job{.request = {}, .address = RoundDown(range->address, kPage)};
  job.request.fault.region = made->local;
  job.page_count = PageCount(range->address, range->length, kPage);
  // They are there; what is left to be seen is whether they may be written.
  for (const bool for_write : {true, false}) {
    job.request.fault.for_write = for_write;
    parts_->pager.Bring(job);
    if (job.brought == job.page_count) break;
  }
  const EngineLock lock(parts_->engine);
  static_cast<void>(MapPages(parts_->engine.memory, parts_->pager.watch(), job, Now()));
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
