#include "verbena/managed_memory.h"

#include <bit>

#include "managed/arena.h"
#include "verbs/convert.h"
#include "verbs/objects.h"
#include "verbs/thrown.h"

namespace verbena {
namespace {

static_assert(static_cast<int>(PagePlace::kNowhere) ==
              static_cast<int>(managed::Residency::kAbsent));
static_assert(static_cast<int>(PagePlace::kLost) == static_cast<int>(managed::Residency::kBroken));

ErrorOr<managed::ArenaOptions> ToArena(const ManagedMemoryOptions& options) {
  constexpr uint32_t kPageMin = 1U << 12, kPageMax = 1U << 21;
  if (!std::has_single_bit(options.page_bytes) || options.page_bytes < kPageMin ||
      options.page_bytes > kPageMax) {
    return Fail(verbs::Invalid("page_bytes must be a power of two from 4 KiB to 2 MiB"));
  }
  if (options.size == 0) return Fail(verbs::Invalid("size must be at least 1 byte"));
  constexpr uint64_t kSizeMax = uint64_t{1} << 46;
  if (options.size > kSizeMax) return Fail(verbs::Invalid("size must be at most 64 TiB"));
  if (options.budget / options.page_bytes < paging::kBudgetMin) {
    return Fail(verbs::Invalid("the budget of managed memory is at least " +
                               std::to_string(paging::kBudgetMin) + " pages"));
  }
  return managed::ArenaOptions{
      .size = options.size,
      .budget = options.budget,
      .granule = PageShift(static_cast<unsigned>(std::countr_zero(options.page_bytes))),
      .view = options.userfaults ? managed::CpuViewKind::kBest : managed::CpuViewKind::kSignal,
      .swap = options.swap,
      .swap_bytes_max = options.swap_bytes_max,
      .compress = options.compress};
}

managed::Arena* ArenaOf(const std::shared_ptr<verbs::ManagedMemoryObject>& object) {
  return object == nullptr || object->thing == nullptr ? nullptr : object->thing->arena;
}

}  // namespace

ErrorOr<ManagedMemory> ManagedMemory::Create(const Context& context,
                                             const ManagedMemoryOptions& options) try {
  if (!context) return Fail(verbs::Empty("context"));
  const auto wanted = ToArena(options);
  if (!wanted) return Fail(wanted.error());
  const std::shared_ptr<verbs::ContextObject>& on = context.object()->context;
  adapter::Adapter& device = *on->device;
  auto object = std::make_shared<verbs::ManagedMemoryObject>(on, device);
  const auto made = device.MakeArena(*wanted);
  if (!made) return Fail(made.error());
  object->thing = *made;
  return ManagedMemory(std::move(object));
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> ManagedMemory::Destroy() try {
  auto ended = verbs::EndNow(object(), "managed memory");
  if (ended) Reset();
  return ended;
} catch (...) {
  return Fail(verbs::Thrown());
}

std::span<std::byte> ManagedMemory::bytes() const {
  const managed::Arena* const arena = ArenaOf(object());
  return arena == nullptr ? std::span<std::byte>() : arena->bytes();
}

ErrorOr<void> ManagedMemory::SetBudget(uint64_t bytes) try {
  managed::Arena* const arena = ArenaOf(object());
  if (arena == nullptr) return Fail(verbs::Empty("managed memory"));
  if (bytes / arena->granule().bytes() < paging::kBudgetMin) {
    return Fail(verbs::Invalid("the budget of managed memory is at least " +
                               std::to_string(paging::kBudgetMin) + " pages"));
  }
  return object()->device.SetBudget(object()->thing, bytes);
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> ManagedMemory::Discard(uint64_t offset, uint64_t length) try {
  managed::Arena* const arena = ArenaOf(object());
  if (arena == nullptr) return Fail(verbs::Empty("managed memory"));
  const uint64_t size = arena->bytes().size();
  if (offset > size || length > size - offset) {
    return Fail(verbs::Invalid("the range must lie within the managed memory"));
  }
  if (length > 0) arena->Discard(offset, length);
  return {};
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<ManagedMemoryReport> ManagedMemory::Query() const try {
  const managed::Arena* const arena = ArenaOf(object());
  if (arena == nullptr) return Fail(verbs::Empty("managed memory"));
  const managed::ArenaReport report = arena->report();
  return ManagedMemoryReport{.budget = report.budget_bytes,
                             .resident = arena->resident_bytes(),
                             .page_bytes = static_cast<uint32_t>(report.granule_bytes),
                             .program_faults = report.cpu_faults,
                             .adapter_requests = report.paging.requests,
                             .pages_read = report.paging.reads,
                             .pages_read_ahead = report.paging.reads_ahead,
                             .pages_written = report.paging.writes,
                             .pages_dropped = report.paging.drops,
                             .pages_lost = report.paging.broken,
                             .swap_bytes_written = report.swap.bytes_written,
                             .swap_bytes_read = report.swap.bytes_read,
                             .store_is_full = report.store == paging::StoreReport::kFull,
                             .store_is_failing = report.store == paging::StoreReport::kFailing,
                             .noticed_by = report.view_method,
                             .stored_by = report.swap_method};
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<std::vector<PagePlace>> ManagedMemory::Places() const try {
  const managed::Arena* const arena = ArenaOf(object());
  if (arena == nullptr) return Fail(verbs::Empty("managed memory"));
  const uint64_t page = arena->granule().bytes();
  std::vector<PagePlace> places;
  places.reserve(arena->bytes().size() / page);
  for (uint64_t at = 0; at < arena->bytes().size(); at += page) {
    places.push_back(static_cast<PagePlace>(arena->residency(at)));
  }
  return places;
} catch (...) {
  return Fail(verbs::Thrown());
}

}  // namespace verbena
