#include "memory/spaces/segment_table.h"

#include <algorithm>
#include <limits>

namespace verbena::memory {
namespace {

constexpr uint64_t kLeftMax = std::numeric_limits<uint64_t>::max();

}  // namespace

MemoryResult<void> SegmentTable::Update(SegmentChange change, const Segment& segment) {
  if (segment.length == 0) return Fail(MemoryError::kOutOfRange);
  const Interval range{segment.start.value(), segment.start.value() + (segment.length - 1)};
  if (range.last < range.first) return Fail(MemoryError::kWraps);
  // Where deleted memory was does not matter.
  if (change != SegmentChange::kDelete &&
      segment.base.value() + (segment.length - 1) < segment.base.value()) {
    return Fail(MemoryError::kWraps);
  }
  const Target target{segment.base, segment.rights, segment.guest};
  switch (change) {
    case SegmentChange::kAdd:
      if (!segments_.Insert(range, target)) return Fail(MemoryError::kOverlap);
      return {};
    case SegmentChange::kDelete: {
      bool found = false;
      segments_.ForEachOverlap(range, [&](const auto&) { found = true; });
      if (!found) return Fail(MemoryError::kNotMapped);
      segments_.Erase(range);
      return {};
    }
    case SegmentChange::kModify:
      if (!segments_.Covers(range)) return Fail(MemoryError::kNotMapped);
      segments_.Assign(range, target);
      return {};
  }
  return Fail(MemoryError::kNotMapped);
}

std::optional<SegmentTable::Place> SegmentTable::Find(EffectiveAddress address) const {
  const auto* entry = segments_.Find(address.value());
  if (entry == nullptr) return std::nullopt;
  const uint64_t offset = address.value() - entry->origin;
  const uint64_t left_less_one = entry->interval.last - address.value();
  return Place{VirtualAddress(entry->value.base.value() + offset),
               left_less_one == kLeftMax ? kLeftMax : left_less_one + 1, entry->value.rights,
               entry->value.guest};
}

uint64_t SegmentTable::LengthOutside(EffectiveAddress address, uint64_t length) const {
  if (length == 0) return 0;
  const uint64_t first = address.value();
  const uint64_t most = std::min(length - 1, kLeftMax - first);  // without the first byte
  uint64_t free = length;
  segments_.ForEachOverlap({first, first + most}, [&](const auto& entry) {
    if (entry.interval.first > first) free = std::min(free, entry.interval.first - first);
  });
  return free;
}

bool SegmentTable::MayAccess(EffectiveAddress start, uint64_t length, Access needed) const {
  if (length == 0) return true;
  const Interval range{start.value(), start.value() + (length - 1)};
  if (range.last < range.first || !segments_.Covers(range)) return false;
  bool granted = true;
  segments_.ForEachOverlap(
      range, [&](const auto& entry) { granted = granted && entry.value.rights.Has(needed); });
  return granted;
}

}  // namespace verbena::memory
