#include "memory/spaces/inverted_page_table.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace verbena::memory {

InvertedPageTable::InvertedPageTable(PhysicalAddress base, uint32_t frame_count)
    : base_(base),
      frames_(frame_count),
      buckets_(std::bit_ceil(std::max<size_t>(frame_count, 1)), kNone) {
  CHECK((base.value() & kPageShift.mask()) == 0);
  CHECK(frame_count < kNone);
}

uint32_t& InvertedPageTable::BucketOf(ConsumerId owner, uint64_t page) {
  const uint64_t hash = (page ^ uint64_t{owner.value()} << 32) * 0x9e3779b97f4a7c15;
  return buckets_[hash >> 32 & (buckets_.size() - 1)];
}

uint32_t InvertedPageTable::FrameOf(ConsumerId owner, uint64_t page) const {
  uint32_t frame = const_cast<InvertedPageTable*>(this)->BucketOf(owner, page);
  while (frame != kNone && (frames_[frame].page != page || frames_[frame].owner != owner)) {
    frame = frames_[frame].next;
  }
  return frame;
}

MemoryResult<void> InvertedPageTable::Map(ConsumerId owner, uint64_t page, PhysicalAddress where,
                                          bool writable) {
  if ((where.value() & kPageShift.mask()) != 0) return Fail(MemoryError::kMisaligned);
  const uint64_t number = (where.value() - base_.value()) >> kPageShift.value();
  if (where < base_ || number >= frames_.size()) return Fail(MemoryError::kOutOfRange);
  const auto frame = static_cast<uint32_t>(number);
  const uint32_t before = FrameOf(owner, page);
  if (frames_[frame].owner != ConsumerId() && frame != before) return Fail(MemoryError::kOverlap);
  if (before != kNone) Remove(before);
  uint32_t& bucket = BucketOf(owner, page);
  frames_[frame] = {page, owner, bucket, writable};
  bucket = frame;
  ++mapped_;
  return {};
}

MemoryResult<void> InvertedPageTable::Unmap(ConsumerId owner, uint64_t page) {
  const uint32_t frame = FrameOf(owner, page);
  if (frame == kNone) return Fail(MemoryError::kNotMapped);
  Remove(frame);
  return {};
}

PageEntry InvertedPageTable::Find(ConsumerId owner, uint64_t page) const {
  const uint32_t frame = FrameOf(owner, page);
  if (frame == kNone) return PageEntry();
  const uint64_t offset = uint64_t{frame} << kPageShift.value();
  return PageEntry(PhysicalAddress(base_.value() + offset), frames_[frame].writable);
}

uint64_t InvertedPageTable::Invalidate(PhysicalAddress first, PhysicalAddress last) {
  CHECK(first <= last);
  if (last < base_) return 0;
  const uint64_t from = first <= base_ ? 0 : (first.value() - base_.value()) >> kPageShift.value();
  const uint64_t end = std::min<uint64_t>(
      ((last.value() - base_.value()) >> kPageShift.value()) + 1, frames_.size());
  const uint64_t before = mapped_;
  for (uint64_t frame = from; frame < end; ++frame) {
    if (frames_[frame].owner != ConsumerId()) Remove(static_cast<uint32_t>(frame));
  }
  return before - mapped_;
}

void InvertedPageTable::RemoveOwner(ConsumerId owner) {
  for (uint32_t frame = 0; frame < frames_.size(); ++frame) {
    if (frames_[frame].owner == owner) Remove(frame);
  }
}

void InvertedPageTable::Remove(uint32_t frame) {
  uint32_t* link = &BucketOf(frames_[frame].owner, frames_[frame].page);
  while (*link != frame) {
    CHECK(*link != kNone);
    link = &frames_[*link].next;
  }
  *link = frames_[frame].next;
  frames_[frame] = Frame();
  --mapped_;
}

bool InvertedPageTable::IsConsistent() const {
  uint64_t mapped = 0;
  for (uint32_t frame = 0; frame < frames_.size(); ++frame) {
    if (frames_[frame].owner == ConsumerId()) continue;
    ++mapped;
    if (FrameOf(frames_[frame].owner, frames_[frame].page) != frame) return false;
  }
  return mapped == mapped_;
}

}  // namespace verbena::memory
