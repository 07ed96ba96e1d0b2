#include <algorithm>
#include <iterator>

#include "model/world.h"

namespace verbena::memory::model {

PageShift World::MakeShift() {
  const uint64_t draw = choices_.Below(16);
  return PageShift(draw < 12 ? 12 : draw < 15 ? 13 : 16);
}

// The address of a page of that size. There are few addresses, so that many entries use the same
// pages.
uint64_t World::PhysicalPage(GuestKey guest, uint64_t page_bytes) {
  if (choices_.Chance(1, 64)) {
    return choices_.OneOf<uint64_t>({0, uint64_t{0} - page_bytes, kFarBase});
  }
  if (guest != kHost) {
    const uint64_t pages = kGuestPages * kSmallPage / page_bytes;
    return choices_.Below(pages + (choices_.Chance(1, 16) ? 4 : 0)) * page_bytes;
  }
  return arena_.base() +
         choices_.Below(std::min<uint64_t>(Arena::kBytes / page_bytes, 64)) * page_bytes;
}

uint64_t World::PageOf(const Entry& entry) {
  const uint64_t count = entry.pages->page_count;
  switch (choices_.Below(8)) {
    case 0:
      return count - 1;
    case 1:
      return count;
    case 2:
      return std::min<uint64_t>(count, 510 + choices_.Below(4));  // at the end of the first leaf
    default:
      return choices_.Below(std::min<uint64_t>(count, 1200));
  }
}

void World::MapPagesStep() {
  const Entry* entry = PickEntry(EntryType::kRegion);
  const Key key = PickKey(entry, Origin::kLocal);
  const bool has_pages = entry != nullptr && entry->pages != nullptr;
  uint64_t first = has_pages ? PageOf(*entry) : choices_.Below(4);
  uint64_t count = choices_.Below(5);
  if (has_pages && choices_.Chance(2, 3)) {  // all pages, up to 16
    first = 0;
    count = std::min<uint64_t>(entry->pages->page_count, 16);
  }
  if (has_pages && entry->pages->page_count > 512 && choices_.Chance(1, 8)) {
    first = choices_.Below(80);
    count = 460 + choices_.Below(150);
  }
  if (choices_.Chance(1, 64)) count = choices_.OneOf<uint64_t>({UINT64_MAX, 1ull << 36, 9});
  std::optional<uint64_t> where;
  const bool linear = has_pages && entry->pages->linear_base.has_value();
  if (linear != !choices_.Chance(1, 12)) {
    where = PhysicalPage(entry == nullptr ? kHost : entry->guest,
                         has_pages ? entry->pages->page_bytes : kSmallPage);
    if (choices_.Chance(1, 32)) *where += 64;
  }
  const bool writable = !choices_.Chance(1, 6);
  Log("map pages: key first count where writable",
      {key.value(), first, count, where.value_or(1), writable});
  const auto there =
      where.has_value() ? std::optional<PhysicalAddress>(PhysicalAddress(*where)) : std::nullopt;
  Expect("map pages", reference_.MapPages(key, first, count, where, writable),
         core_.regions.MapPages(key, first, count, there, writable));
}

void World::UnmapPagesStep() {
  const Entry* entry = PickEntry(EntryType::kRegion);
  const Key key = PickKey(entry, Origin::kLocal);
  const uint64_t first =
      entry != nullptr && entry->pages != nullptr ? PageOf(*entry) : choices_.Below(4);
  const uint64_t count = choices_.Chance(1, 32) ? choices_.Below(700) : choices_.Below(4);
  Log("unmap pages: key first count", {key.value(), first, count});
  Expect("unmap pages", reference_.UnmapPages(key, first, count),
         core_.regions.UnmapPages(key, first, count));
}

// Invalidates a range of memory for all consumers.
void World::InvalidatePagesStep() {
  const bool of_guest = choices_.Chance(1, 3);
  const GuestKey guest = of_guest ? PickGuest() : kHost;
  uint64_t first = PhysicalPage(guest, kSmallPage) + choices_.OneOf<uint64_t>({0, 0, 1, 4095});
  // Picks a present page, because large regions are mostly unmapped.
  if (!of_guest && choices_.Chance(1, 4)) {
    const Entry* entry = PickEntry(EntryType::kRegion);
    if (entry != nullptr && entry->pages != nullptr && !entry->pages->pages.empty()) {
      const Pages& pages = entry->pages->pages;
      const auto it =
          std::next(pages.begin(), static_cast<std::ptrdiff_t>(choices_.Below(pages.size())));
      first = it->second.where;
    }
  }
  uint64_t last = first + choices_.OneOf<uint64_t>({0, 4095, 4096, 20000, 70000});
  if (choices_.Chance(1, 32)) last = UINT64_MAX;
  if (choices_.Chance(1, 32)) first = 0;
  if (last < first) last = UINT64_MAX;
  Log("invalidate pages: guest first last", {guest.value(), first, last});
  const uint64_t gone =
      of_guest && guest != kHost
          ? core_.InvalidateGuestPhysical(guest, PhysicalAddress(first), PhysicalAddress(last))
          : core_.InvalidateMachine(MachineAddress(first), MachineAddress(last));
  const uint64_t expected = reference_.spaces.Invalidate(guest, first, last);
  if (gone != expected) {
    Differ("invalidate pages: expected " + std::to_string(expected) + " gone, got " +
           std::to_string(gone));
  }
}

}  // namespace verbena::memory::model
