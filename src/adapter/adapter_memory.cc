// The calls about memory: the engine's lock around what the memory core does.

#include "adapter/adapter.h"
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
  const EngineLock lock(parts_->engine);
  return InWords(parts_->engine.memory.regions.Register(spec, backing));
}

ErrorOr<memory::RegionKeys> Adapter::ReregisterRegion(
    memory::Key key, const memory::RegionSpec& spec,
    const std::optional<memory::Backing>& backing) {
  if (const auto dead = Dead()) return Fail(*dead);
  const EngineLock lock(parts_->engine);
  return InWords(parts_->engine.memory.regions.Reregister(key, spec, backing));
}

ErrorOr<void> Adapter::DeregisterRegion(memory::Key key) {
  if (const auto dead = Dead()) return Fail(*dead);
  const EngineLock lock(parts_->engine);
  return InWords(parts_->engine.memory.regions.Deregister(key));
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
