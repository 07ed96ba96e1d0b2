#include "memory/protection/page_walker.h"

#include <algorithm>

#include "base/check.h"
#include "base/page.h"

namespace verbena::memory {
namespace {

// The last missing page of [first, last]. REQUIRES: `first` is missing.
template <class IsMissing>
uint64_t LastMissing(uint64_t first, uint64_t last, IsMissing is_missing) {
  while (last > first && !is_missing(last)) --last;
  return last;
}

}  // namespace

Fault PageWalker::MakeFault(Stage stage, GuestKey guest, const Pages& pages) const {
  return Fault{.stage = stage,
               .for_write = writes_,
               .region = Key(),
               .guest = guest,
               .page_shift = pages.shift,
               .first_page = pages.first,
               .page_count = pages.last - pages.first + 1};
}

// Adds contiguous bytes. False if `result` is full.
bool PageWalker::Append(MachineAddress machine, uint64_t length, Translation& result) {
  return std::get_if<Ready>(&result)->spans.Append({machine, length});
}

// The second stage for bytes that lie in one piece of the guest's memory. False when `result` is
// final: a fault, or no room for more.
bool PageWalker::AppendThroughGuest(GuestKey guest, PhysicalAddress physical, uint64_t length,
                                    Translation& result) const {
  constexpr PageShift kShift = GuestTable::kPageShift;
  const GuestTable::Guest* const found = guests_.Find(guest);
  if (found == nullptr) {
    result = Refusal::kGuestGone;
    return false;
  }
  const TranslationTable& table = *found->pages;
  // The guest writes the first stage, which may refer to memory that the guest does not have.
  const auto is_missing = [&](uint64_t page) {
    return page >= table.page_count() || !table.Find(page).Allows(writes_);
  };
  const uint64_t last_page = (physical.value() + (length - 1)) >> kShift.value();
  for (const PagePiece piece : PagesOf(physical.value(), length, kShift)) {
    if (is_missing(piece.page)) {
      result = MakeFault(Stage::kSecond, guest,
                         {kShift, piece.page, LastMissing(piece.page, last_page, is_missing)});
      return false;
    }
    const MachineAddress at(table.Find(piece.page).address().value() + piece.offset);
    if (!Append(at, piece.length, result)) return false;
  }
  return true;
}

Fault PageWalker::FirstStageFault(uint64_t page, uint64_t last_page) const {
  const TranslationTable& table = *target_.table;
  const auto is_missing = [&](uint64_t number) { return !table.Find(number).Allows(writes_); };
  return MakeFault(Stage::kFirst, target_.guest,
                   {table.page_shift(), page, LastMissing(page, last_page, is_missing)});
}

void PageWalker::ThroughTable(uint64_t offset, uint64_t length, Translation& result) const {
  const TranslationTable& table = *target_.table;
  const PageShift shift = table.page_shift();
  const uint64_t position = target_.first_offset + offset;
  if (target_.guest != kHost) return ThroughBothTables(position, length, result);
  for (const PagePiece piece : PagesOf(position, length, shift)) {
    const PageEntry entry = table.Find(piece.page);
    if (!entry.Allows(writes_)) {
      result = FirstStageFault(piece.page, (position + (length - 1)) >> shift.value());
      return;
    }
    if (!Append(MachineAddress(entry.address().value() + piece.offset), piece.length, result)) {
      return;
    }
  }
}

// Pages that are side by side in the guest's memory go through the second stage together, so that
// one fault of that stage names all that are absent.
void PageWalker::ThroughBothTables(uint64_t position, uint64_t length, Translation& result) const {
  const TranslationTable& table = *target_.table;
  const PageShift shift = table.page_shift();
  uint64_t run_start = 0;
  uint64_t run_length = 0;
  const auto end_run = [&] {
    return run_length == 0 ||
           AppendThroughGuest(target_.guest, PhysicalAddress(run_start), run_length, result);
  };
  for (const PagePiece piece : PagesOf(position, length, shift)) {
    const PageEntry entry = table.Find(piece.page);
    const uint64_t at = entry.address().value() + piece.offset;
    const bool is_there = entry.Allows(writes_);
    // Not from the last byte of all to the first.
    const bool continues = is_there && at > run_start && run_start + run_length == at;
    if (!continues) {
      if (!end_run()) return;
      run_start = at;
      run_length = 0;
    }
    if (!is_there) {
      result = FirstStageFault(piece.page, (position + (length - 1)) >> shift.value());
      return;
    }
    run_length += piece.length;
  }
  static_cast<void>(end_run());
}

Fault PageWalker::AllAbsent(uint64_t offset, uint64_t length) const {
  const PageShift shift = target_.table->page_shift();
  const uint64_t position = target_.first_offset + offset;
  return MakeFault(Stage::kFirst, target_.guest,
                   {shift, position >> shift.value(), (position + (length - 1)) >> shift.value()});
}

void PageWalker::ThroughAddressSpace(const Consumer& owner, uint64_t offset, uint64_t length,
                                     Translation& result) const {
  CHECK(owner.pages.has_value());
  const uint64_t start = target_.start + offset;
  if (!owner.segments.has_value() || target_.address_kind == AddressKind::kVirtual) {
    AppendVirtual(*owner.pages, VirtualAddress(start), length, result);
    return;
  }
  const Access needed = writes_ ? Access::kLocalWrite : Access::kLocalRead;
  for (uint64_t done = 0; done < length;) {
    const EffectiveAddress at(start + done);
    const auto place = owner.segments->Find(at);
    if (!place.has_value() && !owner.is_flat_outside) {
      result = Refusal::kNoSegment;
      return;
    }
    if (place.has_value() && !place->rights.Has(needed)) {
      result = Refusal::kOwnerHasNoRight;
      return;
    }
    const uint64_t left = length - done;
    const uint64_t piece =
        place.has_value() ? std::min(left, place->left) : owner.segments->LengthOutside(at, left);
    const VirtualAddress address = place.has_value() ? place->address : VirtualAddress(at.value());
    const bool goes_on =
        place.has_value() && place->guest != kHost
            ? AppendThroughGuest(place->guest, PhysicalAddress(address.value()), piece, result)
            : AppendVirtual(*owner.pages, address, piece, result);
    if (!goes_on) return;
    done += piece;
  }
}

bool PageWalker::AppendVirtual(const PageTable& pages, VirtualAddress address, uint64_t length,
                               Translation& result) const {
  constexpr PageShift kShift = PageTable::kPageShift;
  const auto entry_of = [&](uint64_t page) {
    return pages.Find(VirtualAddress(page << kShift.value()));
  };
  const auto is_missing = [&](uint64_t page) { return !entry_of(page).Allows(writes_); };
  const uint64_t last_page = (address.value() + (length - 1)) >> kShift.value();
  for (const PagePiece piece : PagesOf(address.value(), length, kShift)) {
    const PageEntry entry = entry_of(piece.page);
    if (!entry.Allows(writes_)) {
      result = MakeFault(Stage::kFirst, kHost,
                         {kShift, piece.page, LastMissing(piece.page, last_page, is_missing)});
      return false;
    }
    if (!Append(MachineAddress(entry.address().value() + piece.offset), piece.length, result)) {
      return false;
    }
  }
  return true;
}

}  // namespace verbena::memory
