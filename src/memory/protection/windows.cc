#include "memory/protection/windows.h"

#include "base/check.h"

namespace verbena::memory {

MemoryResult<Key> Windows::Allocate(PdId pd, WindowType type) {
  if (domains_.Find(pd) == nullptr) return Fail(MemoryError::kNoSuchDomain);
  const auto slot = table_.Take(EntryType::kWindow, pd, false);
  if (!slot.has_value()) return Fail(MemoryError::kLimitReached);
  domains_.AddUser(pd);
  table_.EntryAt(*slot).window_type = type;
  return table_.RemoteKey(*slot);
}

MemoryResult<void> Windows::Deallocate(Key window) {
  const auto found = table_.FindLive(window, EntryType::kWindow);
  if (!found.has_value()) return Fail(found.error());
  const SlotNumber slot = table_.SlotOf(window);
  table_.MakeReserved(slot);
  domains_.DropUser((*found)->pd);
  table_.Give(slot);
  return {};
}

Result<ProtectionEntry*, Refusal> Windows::FindForBind(Key window, const WindowBinding& binding,
                                                       const Accessor& who) {
  ProtectionEntry* entry = table_.Find(window.index());
  if (entry == nullptr || !entry->is_live()) return Fail(Refusal::kNoSuchKey);
  if (entry->type != EntryType::kWindow) return Fail(Refusal::kWrongType);
  // IBA C10-72: the queue pair and the window are of one protection domain.
  if (entry->pd != who.pd) return Fail(Refusal::kWrongDomain);
  const bool is_stale = entry->remote_variant != window.variant();
  if (is_stale && !binding.by_index) return Fail(Refusal::kStaleVariant);
  if (entry->window_type != WindowType::k1) {
    // IBA o10-37.2.40: a type 2 window is not unbound by a bind of length 0, but by an invalidate.
    if (binding.length == 0) return Fail(Refusal::kOutOfRange);
    // IBA o10-37.2.30: a type 2 window is free when it is bound.
    if (entry->state == EntryState::kValid && !entry->held) return Fail(Refusal::kStillInUse);
    if (!binding.variant) return Fail(Refusal::kSameVariant);
    // The current key has ended, and the program may reuse it, except while a held key may still
    // serve the replay of a read.
    if (entry->held && binding.variant == entry->remote_variant) {
      return Fail(Refusal::kSameVariant);
    }
    return entry;
  }
  if (binding.variant == entry->remote_variant) return Fail(Refusal::kSameVariant);
  return entry;
}

Result<Translator::Grant, Refusal> Windows::CheckRegion(const WindowBinding& binding,
                                                        const Accessor& who) const {
  const auto grant =
      translator_.Authorize(binding.region, binding.start, binding.length, AccessKind::kBind, who);
  if (!grant.has_value()) return Fail(grant.error());
  // Authorize has checked IBA C10-75: the range lies in the region. A window has remote rights
  // only.
  if (binding.rights.Without(Access::kRemote) != Access::kNone)
    return Fail(Refusal::kRightsTooWide);
  // IBA C10-74: a window that a peer may write needs a region with the local right to write.
  const Access needed = NeededToGrant(binding.rights);
  if (!grant->target->rights.Has(needed)) return Fail(Refusal::kRightsTooWide);
  if (!OwnerMay(*grant->target, grant->offset, binding.length, needed)) {
    return Fail(Refusal::kOwnerHasNoRight);
  }
  return *grant;
}

Result<Key, Refusal> Windows::Bind(Key window, const WindowBinding& binding, const Accessor& who) {
  const auto found = FindForBind(window, binding, who);
  if (!found.has_value()) return Fail(found.error());
  SlotNumber slot = table_.SlotOf(window);
  if (binding.length == 0) return Unbind(slot, binding.variant);
  const auto grant = CheckRegion(binding, who);
  if (!grant.has_value()) return Fail(grant.error());

  table_.MakeReserved(slot);
  slot = Rekey(slot, binding.variant);
  ProtectionEntry& entry = table_.EntryAt(slot);
  ++table_.EntryAt(grant->slot).region.bound_windows;
  entry.start = binding.zero_based ? 0 : binding.start.value();
  entry.length = binding.length;
  entry.window = {grant->offset, who.qp, grant->slot};
  entry.rights = binding.rights;
  entry.zero_based = binding.zero_based;
  entry.one_touch = binding.one_touch;
  entry.touched = entry.held = false;
  entry.was_valid = true;
  entry.state = EntryState::kValid;
  return table_.RemoteKey(slot);
}

SlotNumber Windows::Rekey(SlotNumber slot, std::optional<KeyVariant> variant) {
  if (!variant) return table_.Renew(slot, false);
  table_.UseVariant(slot, *variant);
  return slot;
}

Result<Key, Refusal> Windows::Unbind(SlotNumber slot, std::optional<KeyVariant> variant) {
  const ProtectionEntry& entry = table_.EntryAt(slot);
  if (entry.state == EntryState::kValid) {
    // Row A2: the same check as for binding.
    const ProtectionEntry& region = table_.EntryAt(entry.window.region);
    if (!OwnerMay(region, entry.window.offset, entry.length, NeededToGrant(entry.rights))) {
      return Fail(Refusal::kOwnerHasNoRight);
    }
  }
  table_.MakeReserved(slot);
  return table_.RemoteKey(Rekey(slot, variant));
}

// Whether the owner of the region may currently access these bytes itself with these rights.
bool Windows::OwnerMay(const ProtectionEntry& region, uint64_t offset, uint64_t length,
                       Access needed) const {
  const Consumer* owner = domains_.OwnerOf(region.pd);
  CHECK(owner != nullptr);
  // Virtual addresses, page lists and addresses of a guest are for privileged owners, which are not
  // checked.
  if (region.address_kind == AddressKind::kVirtual) return true;
  if (region.table != nullptr && !region.table->is_linear()) return true;
  if (region.guest != kHost) return true;
  const uint64_t start = region.table == nullptr
                             ? region.start
                             : region.table->LinearAddress(0).value() + region.first_offset;
  return owner->MayAccess(EffectiveAddress(start + offset), length, needed);
}

Result<void, Refusal> Windows::Invalidate(Key window, const Accessor& who) {
  const ProtectionEntry* entry = table_.Find(window.index());
  if (entry == nullptr || !entry->is_live()) return Fail(Refusal::kNoSuchKey);
  if (entry->state != EntryState::kValid) return Fail(Refusal::kNotValid);
  if (entry->type != EntryType::kWindow) return Fail(Refusal::kWrongType);
  // IBA o10-37.2.26: type 1 windows are not invalidated by work requests.
  if (entry->window_type == WindowType::k1) return Fail(Refusal::kNotInvalidable);
  if (entry->window_type == WindowType::k2B && entry->pd != who.pd) {
    return Fail(Refusal::kWrongDomain);
  }
  if (entry->window.qp != who.qp) return Fail(Refusal::kWrongQp);
  if (entry->remote_variant != window.variant()) return Fail(Refusal::kStaleVariant);
  const bool was_held = entry->held;
  table_.MakeReserved(table_.SlotOf(window));
  if (was_held) return Fail(Refusal::kNotValid);
  return {};
}

}  // namespace verbena::memory
