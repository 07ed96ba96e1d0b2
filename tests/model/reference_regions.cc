#include "base/page.h"
#include "model/reference.h"

namespace verbena::memory::model {
namespace {

bool RunsOver(uint64_t start, uint64_t length) { return length > 0 && start + length - 1 < start; }

std::vector<uint64_t> Addresses(const PageListBacking& list) {
  std::vector<uint64_t> addresses;
  for (const PhysicalAddress page : list.pages) addresses.push_back(page.value());
  return addresses;
}

GuestKey GuestOf(const Backing& backing) {
  if (const auto* linear = std::get_if<LinearBacking>(&backing)) return linear->guest;
  if (const auto* list = std::get_if<PageListBacking>(&backing)) return list->guest;
  return kHost;
}

void MapList(PageSet& set, const PageListBacking& list) {
  const std::vector<uint64_t> addresses = Addresses(list);
  for (size_t i = 0; i < addresses.size(); ++i) set.pages[i] = {addresses[i], list.writable};
}

}  // namespace

bool IsGoodList(const PageListBacking& list, uint64_t length) {
  const uint64_t bytes = list.page_shift.bytes();
  if (list.first_offset >= bytes || RunsOver(list.first_offset, length)) return false;
  const uint64_t needed = length == 0 ? 0 : (list.first_offset + (length - 1)) / bytes + 1;
  if (list.pages.size() != needed) return false;
  for (const uint64_t address : Addresses(list)) {
    if (address % bytes != 0) return false;
  }
  return true;
}

Verdict<MemoryError> Reference::CheckSpec(const RegionSpec& spec) const {
  if (spaces.FindDomain(spec.pd) == nullptr) return MemoryError::kNoSuchDomain;
  if (RunsOver(spec.start.value(), spec.length)) return MemoryError::kWraps;
  if (spec.zero_based && spec.start.value() != 0) return MemoryError::kOutOfRange;
  const bool reads = spec.rights.Has(Access::kRemoteRead);
  const bool writes = spec.rights.HasAny(Access::kRemoteWrite | Access::kRemoteAtomic);
  if (reads && !spec.rights.Has(Access::kLocalRead)) return MemoryError::kRightsTooWide;
  if (writes && !spec.rights.Has(Access::kLocalWrite)) return MemoryError::kRightsTooWide;
  return std::nullopt;
}

// Whether the owner of the domain may register such memory (row A2).
Verdict<MemoryError> Reference::CheckOwner(const RegionSpec& spec, const Backing& backing) const {
  const ConsumerRecord& owner = spaces.OwnerOf(spec.pd);
  const bool by_virtual = spec.address_kind == AddressKind::kVirtual;
  if (std::holds_alternative<AddressSpaceBacking>(backing)) {
    if (!owner.has_pages || spec.zero_based) return MemoryError::kWrongType;
    if (by_virtual && !owner.privileged) return MemoryError::kNotPrivileged;
    return std::nullopt;
  }
  if (by_virtual) return MemoryError::kWrongType;
  const GuestKey guest = GuestOf(backing);
  if (guest != kHost && spaces.FindGuest(guest) == nullptr) return MemoryError::kNoSuchGuest;
  const auto* linear = std::get_if<LinearBacking>(&backing);
  if (linear != nullptr && guest == kHost) {
    Access needed;
    if (spec.rights.Has(Access::kLocalRead)) needed = needed | Access::kLocalRead;
    if (spec.rights.Has(Access::kLocalWrite)) needed = needed | Access::kLocalWrite;
    if (owner.MayAccess(linear->base.value(), spec.length, needed)) return std::nullopt;
    return MemoryError::kNotAuthorized;
  }
  if (const auto* shared = std::get_if<SharedBacking>(&backing)) {
    const auto other = FindLive(shared->with, EntryType::kRegion);
    if (!other.has_value()) return other.error();
    if ((*other)->pages == nullptr || (*other)->by_work_request) return MemoryError::kWrongType;
    // Sharing a region with itself has the same requirements as registering it.
    if (spaces.OwnerOf((*other)->pd).id == owner.id) return CheckOwner(spec, BackingOf(**other));
  }
  if (!owner.MayUsePhysical()) return MemoryError::kNotPrivileged;
  return std::nullopt;
}

Backing Reference::BackingOf(const Entry& region) {
  if (region.of_address_space && region.length > 0) return AddressSpaceBacking{};
  if (region.pages == nullptr) return LinearBacking{};  // empty: nothing to be had anywhere
  if (!region.pages->linear_base.has_value()) {
    return PageListBacking{.pages = {}, .guest = region.guest};
  }
  return LinearBacking{PhysicalAddress(*region.pages->linear_base + region.first_offset),
                       PageShift(PageShift::kMin), region.guest};
}

// Checks that the backing is well formed, and within the limits.
Verdict<MemoryError> Reference::CheckBacking(const RegionSpec& spec, const Backing& backing) const {
  if (const auto* linear = std::get_if<LinearBacking>(&backing)) {
    if (spec.length == 0) return std::nullopt;
    const uint64_t base = linear->base.value();
    if (RunsOver(base, spec.length)) return MemoryError::kWraps;
    const uint64_t bytes = linear->page_shift.bytes();
    const uint64_t first = base / bytes;
    const uint64_t last = (base + (spec.length - 1)) / bytes;
    return spaces.CheckPageSet(last - first + 1, bytes, first * bytes);
  }
  if (const auto* list = std::get_if<PageListBacking>(&backing)) {
    if (!IsGoodList(*list, spec.length)) return MemoryError::kBadPageList;
    if (spec.length == 0) return std::nullopt;
    return spaces.CheckPageSet(list->pages.size(), list->page_shift.bytes(), std::nullopt);
  }
  if (const auto* shared = std::get_if<SharedBacking>(&backing)) {
    const auto other = FindLive(shared->with, EntryType::kRegion);
    if (!other.has_value()) return other.error();
    if (spec.length != (*other)->length) return MemoryError::kOutOfRange;
  }
  return std::nullopt;
}

void Reference::Back(Entry& region, const RegionSpec& spec, const Backing& backing) {
  // Taken before anything changes: a region may share with itself.
  const auto* shared = std::get_if<SharedBacking>(&backing);
  const Entry other = shared == nullptr ? Entry() : *Find(shared->with.index());
  std::shared_ptr<PageSet> before = std::move(region.pages);
  region.pages = other.pages;
  const GuestKey guest = shared == nullptr ? GuestOf(backing) : other.guest;
  region.guest = spec.length > 0 ? guest : kHost;
  region.first_offset = other.first_offset;
  region.of_address_space = std::holds_alternative<AddressSpaceBacking>(backing);
  if (spec.length > 0) {
    if (const auto* linear = std::get_if<LinearBacking>(&backing)) {
      const uint64_t bytes = linear->page_shift.bytes();
      const uint64_t base = linear->base.value();
      const uint64_t count = (base + (spec.length - 1)) / bytes - base / bytes + 1;
      region.pages = spaces.MakePageSet(count, bytes, guest, base / bytes * bytes);
      region.first_offset = base % bytes;
    }
    if (const auto* list = std::get_if<PageListBacking>(&backing)) {
      region.pages =
          spaces.MakePageSet(list->pages.size(), list->page_shift.bytes(), guest, std::nullopt);
      MapList(*region.pages, *list);
      region.first_offset = list->first_offset;
    }
  }
  before.reset();
  spaces.DropUnused();
}

void Reference::Fill(Entry& region, const RegionSpec& spec) {
  region.start = spec.start.value();
  region.length = spec.length;
  region.pd = spec.pd;
  region.rights = spec.rights;
  region.one_touch = spec.one_touch;
  region.touched = false;
  region.address_kind = spec.address_kind;
  region.was_valid = true;
  region.state = EntryState::kValid;
}

Verdict<MemoryError> Reference::Register(const RegionSpec& spec, const Backing& backing,
                                         NewKeys made) {
  if (const auto no = CheckSpec(spec)) return no;
  if (const auto no = CheckOwner(spec, backing)) return no;
  if (const auto no = CheckBacking(spec, backing)) return no;
  if (keys.is_full()) return MemoryError::kLimitReached;
  if (!made.has_value()) return std::nullopt;
  Entry& region = Add(EntryType::kRegion, spec.pd, *made);
  Back(region, spec, backing);
  Fill(region, spec);
  return std::nullopt;
}

Verdict<MemoryError> Reference::Reregister(Key key, const RegionSpec& spec,
                                           const std::optional<Backing>& backing, NewKeys made) {
  const auto found = FindLive(key, EntryType::kRegion);
  if (!found.has_value()) return found.error();
  Entry& region = **found;
  if (region.state != EntryState::kValid || region.by_work_request) return MemoryError::kWrongState;
  if (HasWindows(region)) return MemoryError::kInUse;
  if (const auto no = CheckSpec(spec)) return no;
  if (const auto no = CheckOwner(spec, backing.value_or(BackingOf(region)))) return no;
  if (backing.has_value()) {
    if (const auto no = CheckBacking(spec, *backing)) return no;
  } else {
    if (region.start != spec.start.value() || region.length != spec.length) {
      return MemoryError::kOutOfRange;
    }
  }
  if (!made.has_value()) return std::nullopt;
  if (backing.has_value()) Back(region, spec, *backing);
  Renew(region, *made);
  Fill(region, spec);
  return std::nullopt;
}

Verdict<MemoryError> Reference::Deregister(Key key) {
  const auto found = FindLive(key, EntryType::kRegion);
  if (!found.has_value()) return found.error();
  if (HasWindows(**found)) return MemoryError::kInUse;
  Remove(**found);
  return std::nullopt;
}

Verdict<MemoryError> Reference::Reserve(PdId pd, uint64_t pages_max, PageShift shift,
                                        NewKeys made) {
  if (spaces.FindDomain(pd) == nullptr) return MemoryError::kNoSuchDomain;
  const ConsumerRecord& owner = spaces.OwnerOf(pd);
  if (!owner.MayUsePhysical()) return MemoryError::kNotPrivileged;
  if (const auto no = spaces.CheckPageSet(pages_max, shift.bytes(), std::nullopt)) return no;
  if (keys.is_full()) return MemoryError::kLimitReached;
  if (!made.has_value()) return std::nullopt;
  Entry& region = Add(EntryType::kRegion, pd, *made);
  region.by_work_request = true;
  region.pages = spaces.MakePageSet(pages_max, shift.bytes(), kHost, std::nullopt);
  return std::nullopt;
}

Verdict<Refusal> Reference::RegisterReserved(Key key, const RegionSpec& spec,
                                             const PageListBacking& list, const Accessor& who,
                                             NewKeys made) {
  Entry* region = Find(key.index());
  if (region == nullptr) return Refusal::kNoSuchKey;
  if (region->type != EntryType::kRegion || !region->by_work_request) return Refusal::kWrongType;
  if (region->pd != who.pd || spec.pd != who.pd) return Refusal::kWrongDomain;
  if (region->state != EntryState::kReserved || HasWindows(*region)) return Refusal::kStillInUse;
  if (region->was_valid && key == region->local) return Refusal::kSameVariant;
  if (!region->was_valid && key != region->local) return Refusal::kStaleVariant;
  if (const auto no = CheckSpec(spec)) {
    if (*no == MemoryError::kWraps) return Refusal::kWraps;
    return *no == MemoryError::kOutOfRange ? Refusal::kOutOfRange : Refusal::kRightsTooWide;
  }
  if (list.page_shift.bytes() != region->pages->page_bytes) return Refusal::kBadPageList;
  if (list.guest != kHost) return Refusal::kBadPageList;
  if (!IsGoodList(list, spec.length)) return Refusal::kBadPageList;
  if (list.pages.size() > region->pages->page_count) return Refusal::kTooManyPages;
  if (!made.has_value()) return std::nullopt;
  MapList(*region->pages, list);
  region->first_offset = list.first_offset;
  if (key != region->local) keys.Choose(key);
  region->local = region->remote = key;
  Fill(*region, spec);
  return std::nullopt;
}

Verdict<MemoryError> Reference::SwapOut(Key key) {
  const auto found = FindLive(key, EntryType::kRegion);
  if (!found.has_value()) return found.error();
  if ((*found)->state != EntryState::kValid) return MemoryError::kWrongState;
  (*found)->state = EntryState::kSwappedOut;
  return std::nullopt;
}

Verdict<MemoryError> Reference::SwapIn(Key key) {
  const auto found = FindLive(key, EntryType::kRegion);
  if (!found.has_value()) return found.error();
  if ((*found)->state != EntryState::kSwappedOut) return MemoryError::kWrongState;
  (*found)->state = EntryState::kValid;
  return std::nullopt;
}

Verdict<MemoryError> Reference::MapPages(Key key, uint64_t first, uint64_t count,
                                         std::optional<uint64_t> where, bool writable) {
  const auto found = FindLive(key, EntryType::kRegion);
  if (!found.has_value()) return found.error();
  if ((*found)->pages == nullptr) return MemoryError::kWrongType;
  return (*found)->pages->Map(first, count, where, writable);
}

Verdict<MemoryError> Reference::UnmapPages(Key key, uint64_t first, uint64_t count) {
  const auto found = FindLive(key, EntryType::kRegion);
  if (!found.has_value()) return found.error();
  if ((*found)->pages == nullptr) return MemoryError::kWrongType;
  return (*found)->pages->Unmap(first, count);
}

}  // namespace verbena::memory::model
