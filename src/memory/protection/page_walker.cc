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

Fault PageWalker::MakeFault(Stage stage, PageShift shift, uint64_t first_page,
                            uint64_t last_page) const {
  return Fault{.stage = stage,
               .for_write = writes_,
               .region = Key(),
               .guest = target_.guest,
               .page_shift = shift,
               .first_page = first_page,
               .page_count = last_page - first_page + 1};
}

// Adds physically contiguous bytes. False if `result` is final: a fault, or a full list.
bool PageWalker::Append(PhysicalAddress physical, uint64_t length, Translation& result) const {
  if (target_.guest != kHost) return AppendThroughGuest(physical, length, result);
  Ready& ready = *std::get_if<Ready>(&result);
  return ready.spans.Append({MachineAddress(physical.value()), length});
}

bool PageWalker::AppendThroughGuest(PhysicalAddress physical, uint64_t length,
                                    Translation& result) const {
  constexpr PageShift kShift = GuestTable::kPageShift;
  const GuestTable::Guest* guest = guests_.Find(target_.guest);
  CHECK(guest != nullptr);
  Ready& ready = *std::get_if<Ready>(&result);
  ready.second_stage_key = target_.guest;
  ready.attributes = guest->attributes;
  const TranslationTable& table = *guest->pages;
  // The guest writes the first stage, which may refer to memory that the guest does not have.
  const auto is_missing = [&](uint64_t page) {
    return page >= table.page_count() || !table.Find(page).Allows(writes_);
  };
  const uint64_t last_page = (physical.value() + (length - 1)) >> kShift.value();
  for (const PagePiece piece : PagesOf(physical.value(), length, kShift)) {
    if (is_missing(piece.page)) {
      result = MakeFault(Stage::kSecond, kShift, piece.page,
                         LastMissing(piece.page, last_page, is_missing));
      return false;
    }
    const MachineAddress at(table.Find(piece.page).address().value() + piece.offset);
    if (!ready.spans.Append({at, piece.length})) return false;
  }
  return true;
}

void PageWalker::ThroughTable(uint64_t offset, uint64_t length, Translation& result) const {
  const TranslationTable& table = *target_.table;
  const PageShift shift = table.page_shift();
  const uint64_t position = target_.first_offset + offset;
  for (const PagePiece piece : PagesOf(position, length, shift)) {
    const PageEntry entry = table.Find(piece.page);
    if (!entry.Allows(writes_)) {
      const uint64_t last_page = (position + (length - 1)) >> shift.value();
      const auto is_missing = [&](uint64_t page) { return !table.Find(page).Allows(writes_); };
      result = MakeFault(Stage::kFirst, shift, piece.page,
                         LastMissing(piece.page, last_page, is_missing));
      return;
    }
    const PhysicalAddress physical(entry.address().value() + piece.offset);
    if (!Append(physical, piece.length, result)) return;
  }
}

Fault PageWalker::AllAbsent(uint64_t offset, uint64_t length) const {
  const PageShift shift = target_.table->page_shift();
  const uint64_t position = target_.first_offset + offset;
  return MakeFault(Stage::kFirst, shift, position >> shift.value(),
                   (position + (length - 1)) >> shift.value());
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
    const auto place = owner.segments->Find(EffectiveAddress(start + done));
    if (!place.has_value()) {
      result = Refusal::kNoSegment;
      return;
    }
    if (!place->rights.Has(needed)) {
      result = Refusal::kOwnerHasNoRight;
      return;
    }
    const uint64_t piece = std::min(length - done, place->left);
    if (!AppendVirtual(*owner.pages, place->address, piece, result)) return;
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
      result = MakeFault(Stage::kFirst, kShift, piece.page,
                         LastMissing(piece.page, last_page, is_missing));
      return false;
    }
    const PhysicalAddress physical(entry.address().value() + piece.offset);
    if (!Append(physical, piece.length, result)) return false;
  }
  return true;
}

}  // namespace verbena::memory
