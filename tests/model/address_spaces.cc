#include "model/address_spaces.h"

#include <algorithm>

#include "base/check.h"

namespace verbena::memory::model {
namespace {

constexpr uint64_t kSmallPage = 4096;
constexpr uint64_t kPagesMax = uint64_t{1} << 36;  // in a table

// Whether [start, start + length) extends beyond 2^64. It may end there.
bool RunsOver(uint64_t start, uint64_t length) { return length > 0 && start + length - 1 < start; }

}  // namespace

Verdict<MemoryError> PageSet::Map(uint64_t first, uint64_t count, std::optional<uint64_t> where,
                                  bool writable) {
  if (!where.has_value() && !linear_base.has_value()) return MemoryError::kWrongType;
  if (first > page_count || count > page_count - first) return MemoryError::kOutOfRange;
  const uint64_t to = where.has_value() ? *where : *linear_base + first * page_bytes;
  if (to % page_bytes != 0) return MemoryError::kMisaligned;
  if (count == 0) return std::nullopt;
  if (RunsOver(to, count * page_bytes)) return MemoryError::kWraps;
  if (linear_base.has_value() && *linear_base + first * page_bytes != to) {
    return MemoryError::kOutOfRange;
  }
  for (uint64_t i = 0; i < count; ++i) pages[first + i] = {to + i * page_bytes, writable};
  return std::nullopt;
}

Verdict<MemoryError> PageSet::Unmap(uint64_t first, uint64_t count) {
  if (first > page_count || count > page_count - first) return MemoryError::kOutOfRange;
  for (uint64_t i = 0; i < count; ++i) pages.erase(first + i);
  return std::nullopt;
}

const SegmentRecord* ConsumerRecord::FindSegment(uint64_t effective) const {
  for (const SegmentRecord& segment : segments) {
    if (segment.first <= effective && effective <= segment.last) return &segment;
  }
  return nullptr;
}

bool ConsumerRecord::MayAccess(uint64_t start, uint64_t length, Access needed) const {
  return has_all() || length == 0 || IsInSegments(start, length, needed);
}

bool ConsumerRecord::IsInSegments(uint64_t start, uint64_t length, Access needed) const {
  if (RunsOver(start, length)) return false;
  const uint64_t last = start + length - 1;
  for (uint64_t at = start;;) {
    const SegmentRecord* segment = FindSegment(at);
    if (segment == nullptr || !segment->rights.Has(needed)) return false;
    if (segment->last >= last) return true;
    at = segment->last + 1;
  }
}

Verdict<MemoryError> ConsumerRecord::UpdateSegments(SegmentChange change, const Segment& segment) {
  if (!has_segments) return MemoryError::kWrongType;
  if (segment.length == 0) return MemoryError::kOutOfRange;
  const uint64_t first = segment.start.value();
  const uint64_t last = first + segment.length - 1;
  if (RunsOver(first, segment.length)) return MemoryError::kWraps;
  if (change != SegmentChange::kDelete && RunsOver(segment.base.value(), segment.length)) {
    return MemoryError::kWraps;
  }
  const auto meets = [&](const SegmentRecord& s) { return s.first <= last && first <= s.last; };
  const bool meets_any = std::ranges::any_of(segments, meets);
  if (change == SegmentChange::kAdd && meets_any) return MemoryError::kOverlap;
  if (change == SegmentChange::kDelete && !meets_any) return MemoryError::kNotMapped;
  if (change == SegmentChange::kModify && !IsInSegments(first, segment.length, Access::kNone)) {
    return MemoryError::kNotMapped;
  }
  std::vector<SegmentRecord> after;
  for (const SegmentRecord& s : segments) {
    if (!meets(s)) after.push_back(s);
    if (meets(s) && s.first < first)
      after.push_back({s.first, first - 1, s.base, s.rights, s.guest});
    if (meets(s) && s.last > last) {
      after.push_back({last + 1, s.last, s.base + (last + 1 - s.first), s.rights, s.guest});
    }
  }
  if (change != SegmentChange::kDelete) {
    after.push_back({first, last, segment.base.value(), segment.rights, segment.guest});
  }
  segments = std::move(after);
  return std::nullopt;
}

std::optional<Page> InvertedRecord::Find(ConsumerId owner, uint64_t page) const {
  for (const auto& [where, frame] : frames) {
    if (frame.owner == owner && frame.page == page) return Page{where, frame.writable};
  }
  return std::nullopt;
}

Verdict<MemoryError> InvertedRecord::Map(ConsumerId owner, uint64_t page, uint64_t where,
                                         bool writable) {
  if (where % kSmallPage != 0) return MemoryError::kMisaligned;
  if (where < base || where - base >= frame_count * kSmallPage) return MemoryError::kOutOfRange;
  const auto taken = frames.find(where);
  if (taken != frames.end() && (taken->second.owner != owner || taken->second.page != page)) {
    return MemoryError::kOverlap;
  }
  if (const auto before = Find(owner, page)) frames.erase(before->where);
  frames[where] = {owner, page, writable};
  return std::nullopt;
}

Verdict<MemoryError> InvertedRecord::Unmap(ConsumerId owner, uint64_t page) {
  const auto found = Find(owner, page);
  if (!found.has_value()) return MemoryError::kNotMapped;
  frames.erase(found->where);
  return std::nullopt;
}

Verdict<MemoryError> AddressSpaces::CheckPageSet(uint64_t page_count, uint64_t page_bytes,
                                                 std::optional<uint64_t> linear_base) const {
  if (page_count == 0) return MemoryError::kOutOfRange;
  if (page_count > kPagesMax) return MemoryError::kTooLarge;
  if (linear_base.has_value() && RunsOver(*linear_base, page_count * page_bytes)) {
    return MemoryError::kWraps;
  }
  if (page_sets_.size() == options_.translation_tables_max) return MemoryError::kLimitReached;
  return std::nullopt;
}

std::shared_ptr<PageSet> AddressSpaces::MakePageSet(uint64_t page_count, uint64_t page_bytes,
                                                    GuestKey space,
                                                    std::optional<uint64_t> linear_base) {
  return page_sets_.emplace_back(
      std::make_shared<PageSet>(PageSet{page_count, page_bytes, space, linear_base, {}}));
}

void AddressSpaces::DropUnused() {
  std::erase_if(page_sets_, [](const auto& set) { return set.use_count() == 1; });
}

Verdict<MemoryError> AddressSpaces::CreateGuest(const GuestSpec& spec,
                                                std::optional<GuestKey> made) {
  if (spec.memory_bytes % kSmallPage != 0) return MemoryError::kMisaligned;
  const uint64_t count = spec.memory_bytes / kSmallPage;
  std::optional<uint64_t> base;
  if (spec.base) base = spec.base->value();
  if (const auto no = CheckPageSet(count, kSmallPage, base)) return no;
  if (guests_.size() == options_.guests_max) return MemoryError::kLimitReached;
  if (made.has_value()) {
    guests_.push_back({*made, spec.attributes, MakePageSet(count, kSmallPage, kHost, base)});
  }
  return std::nullopt;
}

Verdict<MemoryError> AddressSpaces::DestroyGuest(GuestKey key) {
  const auto guest = std::ranges::find(guests_, key, &GuestRecord::key);
  if (guest == guests_.end()) return MemoryError::kNoSuchGuest;
  guests_.erase(guest);
  DropUnused();
  return std::nullopt;
}

Verdict<MemoryError> AddressSpaces::MapGuest(GuestKey key, uint64_t from, uint64_t count,
                                             uint64_t to, bool writable) {
  const GuestRecord* guest = FindGuest(key);
  if (guest == nullptr) return MemoryError::kNoSuchGuest;
  if (from % kSmallPage != 0) return MemoryError::kMisaligned;
  return guest->pages->Map(from / kSmallPage, count, to, writable);
}

// A page that is writable stays so.
Verdict<MemoryError> AddressSpaces::MapInPlace(GuestKey key, uint64_t from, uint64_t count,
                                               bool writable) {
  const GuestRecord* guest = FindGuest(key);
  if (guest == nullptr) return MemoryError::kNoSuchGuest;
  if (from % kSmallPage != 0) return MemoryError::kMisaligned;
  const Pages before = guest->pages->pages;
  if (const auto no = guest->pages->Map(from / kSmallPage, count, std::nullopt, writable))
    return no;
  for (auto& [number, page] : guest->pages->pages) {
    const auto was = before.find(number);
    if (was != before.end()) page.writable = page.writable || was->second.writable;
  }
  return std::nullopt;
}

Verdict<MemoryError> AddressSpaces::UnmapGuest(GuestKey key, uint64_t from, uint64_t count) {
  const GuestRecord* guest = FindGuest(key);
  if (guest == nullptr) return MemoryError::kNoSuchGuest;
  if (from % kSmallPage != 0) return MemoryError::kMisaligned;
  return guest->pages->Unmap(from / kSmallPage, count);
}

Verdict<MemoryError> AddressSpaces::OpenConsumer(const ConsumerSpec& spec, const Pages* shared,
                                                 std::optional<ConsumerId> made) {
  if (consumers_.size() == options_.consumers_max) return MemoryError::kLimitReached;
  const auto* own = std::get_if<ConsumerSpec::PrivateTable>(&spec.table);
  const auto* inverted = std::get_if<InvertedPageTable*>(&spec.table);
  const auto base = own != nullptr && own->identity ? std::optional<uint64_t>(0) : std::nullopt;
  if (own != nullptr) {
    if (const auto no = CheckPageSet(kPagesMax, kSmallPage, base)) return no;
  }
  if (inverted != nullptr && *inverted == nullptr) return MemoryError::kNotMapped;
  if (!made.has_value()) return std::nullopt;
  ConsumerRecord record{.id = *made,
                        .privileged = spec.privileged,
                        .has_segments = spec.has_segments,
                        .is_flat_outside = spec.is_flat_outside,
                        .has_pages = !std::holds_alternative<std::monostate>(spec.table),
                        .segments = {},
                        .own = nullptr,
                        .shared = shared,
                        .inverted = inverted != nullptr};
  if (own != nullptr) record.own = MakePageSet(kPagesMax, kSmallPage, kHost, base);
  consumers_.push_back(std::move(record));
  return std::nullopt;
}

Verdict<MemoryError> AddressSpaces::CloseConsumer(ConsumerId id) {
  if (FindConsumer(id) == nullptr) return MemoryError::kNoSuchConsumer;
  if (std::ranges::count(domains_, id, &DomainRecord::owner) > 0) return MemoryError::kInUse;
  std::erase_if(inverted_.frames, [&](const auto& frame) { return frame.second.owner == id; });
  std::erase_if(consumers_, [&](const ConsumerRecord& record) { return record.id == id; });
  DropUnused();
  return std::nullopt;
}

Verdict<MemoryError> AddressSpaces::UpdateSegments(ConsumerId id, SegmentChange change,
                                                   const Segment& segment) {
  ConsumerRecord* consumer = Find(id);
  if (consumer == nullptr) return MemoryError::kNoSuchConsumer;
  return consumer->UpdateSegments(change, segment);
}

Verdict<MemoryError> AddressSpaces::MapLocal(ConsumerId id, uint64_t page, uint64_t where,
                                             bool writable) {
  const ConsumerRecord* consumer = FindConsumer(id);
  if (consumer == nullptr) return MemoryError::kNoSuchConsumer;
  if (!consumer->has_pages) return MemoryError::kWrongType;
  if (page % kSmallPage != 0) return MemoryError::kMisaligned;
  if (consumer->own) return consumer->own->Map(page / kSmallPage, 1, where, writable);
  if (consumer->inverted) return inverted_.Map(id, page / kSmallPage, where, writable);
  return MemoryError::kOwnedByTheSystem;
}

Verdict<MemoryError> AddressSpaces::UnmapLocal(ConsumerId id, uint64_t page) {
  const ConsumerRecord* consumer = FindConsumer(id);
  if (consumer == nullptr) return MemoryError::kNoSuchConsumer;
  if (!consumer->has_pages) return MemoryError::kWrongType;
  if (page % kSmallPage != 0) return MemoryError::kMisaligned;
  if (consumer->shared != nullptr) return MemoryError::kOwnedByTheSystem;
  if (!FindLocal(*consumer, page / kSmallPage).has_value()) return MemoryError::kNotMapped;
  if (consumer->own) return consumer->own->Unmap(page / kSmallPage, 1);
  return inverted_.Unmap(id, page / kSmallPage);
}

std::optional<Page> AddressSpaces::FindLocal(const ConsumerRecord& consumer, uint64_t page) const {
  if (consumer.inverted) return inverted_.Find(consumer.id, page);
  const Pages* pages = consumer.own ? &consumer.own->pages : consumer.shared;
  CHECK(pages != nullptr);
  const auto it = pages->find(page);
  return it == pages->end() ? std::nullopt : std::optional(it->second);
}

Verdict<MemoryError> AddressSpaces::AllocateDomain(ConsumerId owner, std::optional<PdId> made) {
  if (FindConsumer(owner) == nullptr) return MemoryError::kNoSuchConsumer;
  if (domains_.size() == options_.domains_max) return MemoryError::kLimitReached;
  if (made.has_value()) domains_.push_back({*made, owner});
  return std::nullopt;
}

Verdict<MemoryError> AddressSpaces::DeallocateDomain(PdId pd, bool in_use) {
  if (FindDomain(pd) == nullptr) return MemoryError::kNoSuchDomain;
  if (in_use) return MemoryError::kInUse;
  std::erase_if(domains_, [&](const DomainRecord& domain) { return domain.pd == pd; });
  return std::nullopt;
}

uint64_t AddressSpaces::Invalidate(GuestKey space, uint64_t first, uint64_t last) {
  uint64_t gone = 0;
  for (const auto& set : page_sets_) {
    if (set->space != space) continue;
    gone += std::erase_if(set->pages, [&](const auto& page) {
      const uint64_t where = page.second.where;
      return where <= last && first <= where + (set->page_bytes - 1);
    });
  }
  if (space != kHost) return gone;
  return gone + std::erase_if(inverted_.frames, [&](const auto& frame) {
           return frame.first <= last && first <= frame.first + (kSmallPage - 1);
         });
}

const GuestRecord* AddressSpaces::FindGuest(GuestKey key) const {
  const auto it = std::ranges::find(guests_, key, &GuestRecord::key);
  return it == guests_.end() ? nullptr : &*it;
}

const ConsumerRecord* AddressSpaces::FindConsumer(ConsumerId id) const {
  const auto it = std::ranges::find(consumers_, id, &ConsumerRecord::id);
  return it == consumers_.end() ? nullptr : &*it;
}

const DomainRecord* AddressSpaces::FindDomain(PdId pd) const {
  const auto it = std::ranges::find(domains_, pd, &DomainRecord::pd);
  return it == domains_.end() ? nullptr : &*it;
}

uint64_t AddressSpaces::present_count() const {
  uint64_t count = 0;
  for (const auto& set : page_sets_) count += set->pages.size();
  return count;
}

}  // namespace verbena::memory::model
