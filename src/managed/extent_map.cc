#include "managed/extent_map.h"

#include <bit>

#include "base/check.h"

namespace verbena::managed {

uint64_t ExtentMap::AllFree(uint32_t units) {
  const uint32_t count = kSlabUnits / units;
  return count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

std::optional<uint32_t> ExtentMap::Take(uint32_t units) {
  CHECK(units >= 1 && units <= kExtentUnitsMax);
  const uint32_t index = SlabFor(units);
  if (index == kNone) return std::nullopt;
  Slab& slab = slabs_[index];
  const auto place = static_cast<uint32_t>(std::countr_zero(slab.free));
  slab.free &= slab.free - 1;
  if (slab.free == 0) Unlink(index);
  used_units_ += units;
  return index * kSlabUnits + place * units;
}

void ExtentMap::Give(uint32_t first, uint32_t units) {
  const uint32_t index = first / kSlabUnits;
  CHECK(index < slabs_.size());
  Slab& slab = slabs_[index];
  CHECK(slab.units == units && first % kSlabUnits % units == 0);
  const uint64_t bit = uint64_t{1} << (first % kSlabUnits / units);
  CHECK((slab.free & bit) == 0);
  if (slab.free != 0) Unlink(index);
  slab.free |= bit;
  if (slab.free == AllFree(units)) slab.units = 0;
  Link(index);
  used_units_ -= units;
}

void ExtentMap::Grow(uint32_t slabs) {
  CHECK(slabs_.size() + slabs < kNone / kSlabUnits);
  const auto before = static_cast<uint32_t>(slabs_.size());
  slabs_.resize(before + slabs);
  // Backwards, so that slabs are handed out from low to high.
  for (uint32_t i = before + slabs; i-- > before;) Link(i);
}

// A slab of this size with room; takes an unassigned one if there is none.
uint32_t ExtentMap::SlabFor(uint32_t units) {
  if (heads_[units] != kNone) return heads_[units];
  const uint32_t fresh = heads_[0];
  if (fresh == kNone) return kNone;
  Unlink(fresh);
  slabs_[fresh].units = static_cast<uint8_t>(units);
  slabs_[fresh].free = AllFree(units);
  Link(fresh);
  return fresh;
}

void ExtentMap::Link(uint32_t slab) {
  uint32_t& head = heads_[slabs_[slab].units];
  slabs_[slab].previous = kNone;
  slabs_[slab].next = head;
  if (head != kNone) slabs_[head].previous = slab;
  head = slab;
}

void ExtentMap::Unlink(uint32_t slab) {
  const Slab& it = slabs_[slab];
  (it.previous == kNone ? heads_[it.units] : slabs_[it.previous].next) = it.next;
  if (it.next != kNone) slabs_[it.next].previous = it.previous;
}

bool ExtentMap::IsConsistent() const {
  uint64_t used = 0;
  uint64_t with_room = 0;
  for (const Slab& slab : slabs_) {
    with_room += slab.units == 0 || slab.free != 0;
    if (slab.units == 0) continue;
    const uint64_t all = AllFree(slab.units);
    if ((slab.free & ~all) != 0 || slab.free == all) return false;
    used += static_cast<uint64_t>(std::popcount(all & ~slab.free)) * slab.units;
  }
  uint64_t linked = 0;
  for (uint32_t units = 0; units <= kExtentUnitsMax; ++units) {
    for (uint32_t i = heads_[units]; i != kNone; i = slabs_[i].next, ++linked) {
      if (slabs_[i].units != units || linked == slabs_.size()) return false;
    }
  }
  return used == used_units_ && linked == with_room;
}

}  // namespace verbena::managed
