#include "memory/protection/regions.h"

#include "base/check.h"
#include "base/rollback.h"
#include "base/when_memory.h"
#include "memory/protection/page_list.h"

namespace verbena::memory {
namespace {

bool Wraps(KeyAddress start, uint64_t length) {
  return length > 0 && start.value() + (length - 1) < start.value();
}

// Whose physical addresses the backing names.
GuestKey GuestOf(const Backing& backing) {
  if (const auto* linear = std::get_if<LinearBacking>(&backing)) return linear->guest;
  if (const auto* list = std::get_if<PageListBacking>(&backing)) return list->guest;
  return kHost;
}

}  // namespace

MemoryResult<void> Regions::CheckSpec(const RegionSpec& spec) const {
  if (domains_.Find(spec.pd) == nullptr) return Fail(MemoryError::kNoSuchDomain);
  if (Wraps(spec.start, spec.length)) return Fail(MemoryError::kWraps);
  if (spec.zero_based && spec.start.value() != 0) return Fail(MemoryError::kOutOfRange);
  if (!spec.rights.Has(NeededToGrant(spec.rights))) return Fail(MemoryError::kRightsTooWide);
  return {};
}

// Row A2: an owner may not grant memory or rights that it does not have.
MemoryResult<void> Regions::CheckOwner(const RegionSpec& spec, const Backing& backing) const {
  const Consumer& owner = *domains_.OwnerOf(spec.pd);
  if (std::holds_alternative<NullBacking>(backing)) {
    const bool is_local = spec.rights.Without(Access::kRemote | Access::kWindowBind) == spec.rights;
    if (!is_local) return Fail(MemoryError::kRightsTooWide);
    if (spec.address_kind == AddressKind::kVirtual) return Fail(MemoryError::kWrongType);
    return {};
  }
  if (std::holds_alternative<AddressSpaceBacking>(backing)) {
    if (!owner.pages.has_value() || spec.zero_based) return Fail(MemoryError::kWrongType);
    if (spec.address_kind == AddressKind::kVirtual && !owner.privileged) {
      return Fail(MemoryError::kNotPrivileged);
    }
    // The segments of the owner may change later, so every access checks them.
    return {};
  }
  // Virtual addresses are valid for regions of the address space only.
  if (spec.address_kind == AddressKind::kVirtual) return Fail(MemoryError::kWrongType);
  const GuestKey guest = GuestOf(backing);
  if (guest != kHost && guests_.Find(guest) == nullptr) return Fail(MemoryError::kNoSuchGuest);
  // Addresses of a guest are no effective addresses of the owner.
  const auto* const linear = std::get_if<LinearBacking>(&backing);
  if (linear != nullptr && guest == kHost) {
    const EffectiveAddress at(linear->base.value());
    const Access local = spec.rights.Without(Access::kRemote | Access::kWindowBind);
    if (!owner.MayAccess(at, spec.length, local)) return Fail(MemoryError::kNotAuthorized);
    return {};
  }
  if (const auto* shared = std::get_if<SharedBacking>(&backing)) {
    const auto other = table_.FindLive(shared->with, EntryType::kRegion);
    if (!other.has_value()) return Fail(other.error());
    // A region without a table, or with one that work requests change, cannot be shared.
    const bool sharable = (*other)->table != nullptr && !(*other)->by_work_request;
    if (!sharable) return Fail(MemoryError::kWrongType);
    const bool same_owner = domains_.Find((*other)->pd)->owner == domains_.Find(spec.pd)->owner;
    if (same_owner) return CheckOwner(spec, BackingOf(**other));
  }
  if (!owner.MayUsePhysical()) return Fail(MemoryError::kNotPrivileged);
  return {};
}

// The backing of a region, for the check of the owner's rights.
Backing Regions::BackingOf(const ProtectionEntry& region) {
  if (region.is_null) return NullBacking{};
  if (region.table == nullptr && region.length == 0) return LinearBacking{};
  if (region.table == nullptr) return AddressSpaceBacking{};
  if (!region.table->is_linear()) return PageListBacking{.pages = {}, .guest = region.guest};
  const uint64_t base = region.table->LinearAddress(0).value() + region.first_offset;
  return LinearBacking{PhysicalAddress(base), region.table->page_shift(), region.guest};
}

MemoryResult<RegionKeys> Regions::Register(const RegionSpec& spec, const Backing& backing) {
  if (const auto ok = CheckSpec(spec); !ok.has_value()) return Fail(ok.error());
  if (const auto ok = CheckOwner(spec, backing); !ok.has_value()) return Fail(ok.error());
  const auto memory = MakeMemory(spec, backing);
  if (!memory.has_value()) return Fail(memory.error());
  Rollback made([&] {
    if (memory->table != nullptr) store_.Release(memory->table);
  });
  const auto slot = table_.Take(EntryType::kRegion, spec.pd, spec.distinct_keys);
  if (!slot.has_value()) return Fail(MemoryError::kLimitReached);
  made.Keep();
  domains_.AddUser(spec.pd);
  FillIn(*slot, spec, *memory);
  return KeysOf(*slot);
}

MemoryResult<RegionKeys> Regions::Reregister(Key key, const RegionSpec& spec,
                                             const std::optional<Backing>& backing) {
  const auto found = table_.FindLive(key, EntryType::kRegion);
  if (!found.has_value()) return Fail(found.error());
  ProtectionEntry& entry = **found;
  if (entry.state != EntryState::kValid || entry.by_work_request) {
    return Fail(MemoryError::kWrongState);
  }
  if (table_.HasWindows(table_.SlotOf(key))) return Fail(MemoryError::kInUse);
  if (const auto ok = CheckSpec(spec); !ok.has_value()) return Fail(ok.error());
  const auto owner_ok = CheckOwner(spec, backing.has_value() ? *backing : BackingOf(entry));
  if (!owner_ok.has_value()) return Fail(owner_ok.error());

  Memory memory{entry.table, entry.first_offset, entry.length, entry.is_null, entry.guest};
  if (backing.has_value()) {
    const auto made = MakeMemory(spec, *backing);
    if (!made.has_value()) return Fail(made.error());
    memory = *made;
    if (entry.table != nullptr) store_.Release(entry.table);
  } else if (entry.start != spec.start.value() || entry.length != spec.length) {
    return Fail(MemoryError::kOutOfRange);
  }
  domains_.AddUser(spec.pd);
  domains_.DropUser(entry.pd);
  const bool keeps = spec.keep_keys && !entry.one_touch && !spec.one_touch;
  const SlotNumber old = table_.SlotOf(key);
  const SlotNumber slot = keeps ? old : table_.Renew(old, spec.distinct_keys);
  FillIn(slot, spec, memory);
  return KeysOf(slot);
}

MemoryResult<void> Regions::Deregister(Key key) {
  const auto found = table_.FindLive(key, EntryType::kRegion);
  if (!found.has_value()) return Fail(found.error());
  const ProtectionEntry& entry = **found;
  if (table_.HasWindows(table_.SlotOf(key))) return Fail(MemoryError::kInUse);
  if (entry.table != nullptr) store_.Release(entry.table);
  domains_.DropUser(entry.pd);
  table_.Give(table_.SlotOf(key));
  return {};
}

MemoryResult<RegionKeys> Regions::Reserve(PdId pd, uint64_t pages_max, PageShift page_shift) {
  if (domains_.Find(pd) == nullptr) return Fail(MemoryError::kNoSuchDomain);
  if (!domains_.OwnerOf(pd)->MayUsePhysical()) return Fail(MemoryError::kNotPrivileged);
  const auto pages = store_.Create(pages_max, page_shift, kMachineSpace, std::nullopt);
  if (!pages.has_value()) return Fail(pages.error());
  Rollback made([&] { store_.Release(*pages); });
  const auto slot = table_.Take(EntryType::kRegion, pd, false);
  if (!slot.has_value()) return Fail(MemoryError::kLimitReached);
  made.Keep();
  domains_.AddUser(pd);
  ProtectionEntry& entry = table_.EntryAt(*slot);
  entry.table = *pages;
  entry.by_work_request = true;
  return KeysOf(*slot);
}

Result<RegionKeys, Refusal> Regions::RegisterReserved(Key key, const RegionSpec& spec,
                                                      const PageListBacking& backing,
                                                      const Accessor& who) {
  ProtectionEntry* entry = table_.Find(key.index());
  if (entry == nullptr || !entry->is_live()) return Fail(Refusal::kNoSuchKey);
  if (entry->type != EntryType::kRegion || !entry->by_work_request)
    return Fail(Refusal::kWrongType);
  if (entry->pd != who.pd || spec.pd != who.pd) return Fail(Refusal::kWrongDomain);
  // A spent one-touch region may still have windows, which must not access the next generation.
  const SlotNumber slot = table_.SlotOf(key);
  if (entry->held) table_.MakeReserved(slot);
  if (entry->state != EntryState::kReserved || table_.HasWindows(slot)) {
    return Fail(Refusal::kStillInUse);
  }
  // The variant must be the reserved one, or a new one once that has been in use.
  const bool same = entry->local_variant == key.variant();
  if (same && entry->was_valid) return Fail(Refusal::kSameVariant);
  if (!same && !entry->was_valid) return Fail(Refusal::kStaleVariant);
  if (Wraps(spec.start, spec.length)) return Fail(Refusal::kWraps);
  if (spec.zero_based && spec.start.value() != 0) return Fail(Refusal::kOutOfRange);
  if (!spec.rights.Has(NeededToGrant(spec.rights))) return Fail(Refusal::kRightsTooWide);
  if (backing.page_shift != entry->table->page_shift() || backing.guest != kHost ||
      !CoversLength(backing, spec.length) || !MayList(store_, entry->table->space(), backing)) {
    return Fail(Refusal::kBadPageList);
  }
  if (backing.pages.size() > entry->table->page_count()) return Fail(Refusal::kTooManyPages);

  // Entries that were written stay until the next list; the region is not valid yet.
  if (!WhenMemory([&] { MapPageList(store_, *entry->table, backing); })) {
    return Fail(Refusal::kTooManyPages);
  }
  if (!same) table_.UseVariant(slot, key.variant());
  FillIn(slot, spec, {entry->table, static_cast<uint32_t>(backing.first_offset), spec.length});
  return KeysOf(slot);
}

Result<void, Refusal> Regions::Invalidate(Key key, Origin origin, const Accessor& who) {
  ProtectionEntry* entry = table_.Find(key.index());
  if (entry == nullptr || !entry->is_live()) return Fail(Refusal::kNoSuchKey);
  if (entry->state == EntryState::kSwappedOut) return Fail(Refusal::kSwappedOut);
  if (entry->state != EntryState::kValid) return Fail(Refusal::kNotValid);
  if (entry->type != EntryType::kRegion) return Fail(Refusal::kWrongType);
  if (entry->pd != who.pd) return Fail(Refusal::kWrongDomain);
  if (entry->VariantFor(origin) != key.variant()) return Fail(Refusal::kStaleVariant);
  // RFC 5040 5.2: a peer may only invalidate a key through which it may access memory.
  if (origin == Origin::kRemote && !entry->rights.HasAny(Access::kRemote)) {
    return Fail(Refusal::kNoRight);
  }
  if (!entry->by_work_request) return Fail(Refusal::kNotInvalidable);
  const SlotNumber slot = table_.SlotOf(key);
  if (table_.HasWindows(slot)) return Fail(Refusal::kStillInUse);
  const bool was_held = entry->held;
  table_.MakeReserved(slot);
  if (was_held) return Fail(Refusal::kNotValid);
  return {};
}

MemoryResult<void> Regions::SwapOut(Key key, WhenOut answer) {
  const auto found = table_.FindLive(key, EntryType::kRegion);
  if (!found.has_value()) return Fail(found.error());
  if ((*found)->state != EntryState::kValid) return Fail(MemoryError::kWrongState);
  const bool waits = answer == WhenOut::kWait;
  if (waits && (*found)->table == nullptr) return Fail(MemoryError::kWrongType);
  (*found)->state = EntryState::kSwappedOut;
  (*found)->faults_when_out = waits;
  return {};
}

MemoryResult<void> Regions::SwapIn(Key key) {
  const auto found = table_.FindLive(key, EntryType::kRegion);
  if (!found.has_value()) return Fail(found.error());
  if ((*found)->state != EntryState::kSwappedOut) return Fail(MemoryError::kWrongState);
  (*found)->state = EntryState::kValid;
  return {};
}

MemoryResult<void> Regions::MapPages(Key key, uint64_t first_page, uint64_t count,
                                     std::optional<PhysicalAddress> where, bool writable) {
  const auto found = table_.FindLive(key, EntryType::kRegion);
  if (!found.has_value()) return Fail(found.error());
  TranslationTable* pages = (*found)->table;
  if (pages == nullptr) return Fail(MemoryError::kWrongType);
  if (!where.has_value()) {
    return pages->is_linear() ? store_.MapLinear(*pages, first_page, count, writable)
                              : store_.Restore(*pages, first_page, count);
  }
  return store_.Map(*pages, first_page, count, *where, writable);
}

MemoryResult<void> Regions::UnmapPages(Key key, uint64_t first_page, uint64_t count) {
  const auto found = table_.FindLive(key, EntryType::kRegion);
  if (!found.has_value()) return Fail(found.error());
  TranslationTable* pages = (*found)->table;
  if (pages == nullptr) return Fail(MemoryError::kWrongType);
  return store_.Unmap(*pages, first_page, count);
}

MemoryResult<Regions::Memory> Regions::MakeMemory(const RegionSpec& spec, const Backing& backing) {
  if (const auto* linear = std::get_if<LinearBacking>(&backing)) return MakeLinear(spec, *linear);
  if (const auto* list = std::get_if<PageListBacking>(&backing)) return MakePageList(spec, *list);
  if (const auto* shared = std::get_if<SharedBacking>(&backing)) {
    return ShareMemory(spec, shared->with);
  }
  return Memory{nullptr, 0, spec.length, std::holds_alternative<NullBacking>(backing)};
}

MemoryResult<Regions::Memory> Regions::MakeLinear(const RegionSpec& spec,
                                                  const LinearBacking& linear) {
  if (spec.length == 0) return Memory{};
  const uint64_t base = linear.base.value();
  if (base + (spec.length - 1) < base) return Fail(MemoryError::kWraps);
  const auto pages = store_.Create(PageCount(base, spec.length, linear.page_shift),
                                   linear.page_shift, GuestTable::SpaceOf(linear.guest),
                                   PhysicalAddress(RoundDown(base, linear.page_shift)));
  if (!pages.has_value()) return Fail(pages.error());
  return Memory{*pages, static_cast<uint32_t>(base & linear.page_shift.mask()), spec.length, false,
                linear.guest};
}

MemoryResult<Regions::Memory> Regions::MakePageList(const RegionSpec& spec,
                                                    const PageListBacking& list) {
  const PhysicalSpace space = GuestTable::SpaceOf(list.guest);
  if (!CoversLength(list, spec.length) || !MayList(store_, space, list)) {
    return Fail(MemoryError::kBadPageList);
  }
  if (spec.length == 0) return Memory{};
  const auto pages = store_.Create(list.pages.size(), list.page_shift, space, std::nullopt);
  if (!pages.has_value()) return Fail(pages.error());
  Rollback made([&] { store_.Release(*pages); });
  MapPageList(store_, **pages, list);
  made.Keep();
  return Memory{*pages, static_cast<uint32_t>(list.first_offset), spec.length, false, list.guest};
}

MemoryResult<Regions::Memory> Regions::ShareMemory(const RegionSpec& spec, Key with) {
  const auto found = table_.FindLive(with, EntryType::kRegion);
  if (!found.has_value()) return Fail(found.error());
  const ProtectionEntry& other = **found;
  if (spec.length != other.length) return Fail(MemoryError::kOutOfRange);
  store_.Share(*other.table);
  return Memory{other.table, other.first_offset, other.length, false, other.guest};
}

void Regions::FillIn(SlotNumber slot, const RegionSpec& spec, const Memory& memory) {
  ProtectionEntry& entry = table_.EntryAt(slot);
  entry.start = spec.start.value();
  entry.length = memory.length;
  entry.table = memory.table;
  entry.first_offset = memory.first_offset;
  entry.region = {};
  entry.pd = spec.pd;
  entry.guest = memory.guest;
  entry.rights = spec.rights;
  entry.address_kind = spec.address_kind;
  entry.one_touch = spec.one_touch;
  entry.touched = entry.held = false;
  entry.zero_based = spec.zero_based;
  entry.is_null = memory.is_null;
  entry.was_valid = true;
  entry.state = EntryState::kValid;
}

}  // namespace verbena::memory
