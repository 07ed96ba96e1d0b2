#include "model/reference.h"

namespace verbena::memory::model {

Verdict<MemoryError> Reference::AllocateWindow(PdId pd, WindowType type, std::optional<Key> made) {
  if (spaces.FindDomain(pd) == nullptr) return MemoryError::kNoSuchDomain;
  if (keys.is_full()) return MemoryError::kLimitReached;
  if (made.has_value()) Add(EntryType::kWindow, pd, {*made, *made}).window_type = type;
  return std::nullopt;
}

Verdict<MemoryError> Reference::DeallocateWindow(Key key) {
  const auto found = FindLive(key, EntryType::kWindow);
  if (!found.has_value()) return found.error();
  Remove(**found);
  return std::nullopt;
}

Result<Entry*, Refusal> Reference::CheckWindow(Key key, const WindowBinding& binding,
                                               const Accessor& who) const {
  Entry* window = Find(key.index());
  if (window == nullptr) return Fail(Refusal::kNoSuchKey);
  if (window->type != EntryType::kWindow) return Fail(Refusal::kWrongType);
  if (window->pd != who.pd) return Fail(Refusal::kWrongDomain);
  if (window->remote != key && !binding.by_index) return Fail(Refusal::kStaleVariant);
  if (window->window_type != WindowType::k1) {
    if (binding.length == 0) return Fail(Refusal::kOutOfRange);
    if (window->state == EntryState::kValid) return Fail(Refusal::kStillInUse);
    if (!binding.variant.has_value()) return Fail(Refusal::kSameVariant);
    return window;
  }
  if (binding.variant == window->remote.variant()) return Fail(Refusal::kSameVariant);
  return window;
}

// Row A2: whether the region's owner may currently access these bytes itself.
bool Reference::OwnerMay(const Entry& region, uint64_t offset, uint64_t length,
                         Access needed) const {
  const ConsumerRecord& owner = spaces.OwnerOf(region.pd);
  if (region.address_kind == AddressKind::kVirtual || region.guest != kHost) return true;
  if (region.of_address_space) return owner.MayAccess(region.start + offset, length, needed);
  if (!region.pages->linear_base.has_value()) return true;
  const uint64_t base = *region.pages->linear_base + region.first_offset;
  return owner.MayAccess(base + offset, length, needed);
}

// Gives the window the variant that its owner chose, or the key that the table made.
void Reference::Rekey(Entry& window, std::optional<KeyVariant> chosen, Key made) {
  if (!chosen.has_value()) return Renew(window, {made, made});
  window.local = window.remote = Key(window.remote.index(), *chosen);
  keys.Choose(window.remote);
}

Verdict<Refusal> Reference::Bind(Key key, const WindowBinding& binding, const Accessor& who,
                                 std::optional<Key> made) {
  const auto found = CheckWindow(key, binding, who);
  if (!found.has_value()) return found.error();
  Entry& window = **found;
  const auto needed_for = [](Access rights) {
    Access needed;
    if (rights.Has(Access::kRemoteRead)) needed = needed | Access::kLocalRead;
    if (rights.Has(Access::kRemoteWrite)) needed = needed | Access::kLocalWrite;
    if (rights.Has(Access::kRemoteAtomic)) needed = needed | Access::kLocalWrite;
    return needed;
  };
  if (binding.length == 0) {
    if (window.state == EntryState::kValid &&
        !OwnerMay(*window.region, window.offset, window.length, needed_for(window.rights))) {
      return Refusal::kOwnerHasNoRight;
    }
    if (!made.has_value()) return std::nullopt;
    window.state = EntryState::kReserved;
    window.touched = false;
    Rekey(window, binding.variant, *made);
    return std::nullopt;
  }

  const uint64_t start = binding.start.value();
  const auto no = Authorize(binding.region, start, binding.length, AccessKind::kBind, who);
  if (no.has_value()) return no;
  Entry& region = *Find(binding.region.index());
  if (!Access::kRemote.Has(binding.rights)) return Refusal::kRightsTooWide;
  const Access needed = needed_for(binding.rights);
  if (!region.rights.Has(needed)) return Refusal::kRightsTooWide;
  const uint64_t offset = start - region.start;
  if (!OwnerMay(region, offset, binding.length, needed)) return Refusal::kOwnerHasNoRight;
  if (!made.has_value()) return std::nullopt;

  Rekey(window, binding.variant, *made);
  window.start = binding.zero_based ? 0 : start;
  window.length = binding.length;
  window.rights = binding.rights;
  window.region = &region;
  window.offset = offset;
  window.qp = who.qp;
  window.one_touch = binding.one_touch;
  window.touched = false;
  window.state = EntryState::kValid;
  return std::nullopt;
}

Verdict<Refusal> Reference::Invalidate(Key key, Origin origin, const Accessor& who) {
  Entry* entry = Find(key.index());
  if (entry == nullptr) return Refusal::kNoSuchKey;
  if (entry->state == EntryState::kSwappedOut) return Refusal::kSwappedOut;
  if (entry->state != EntryState::kValid) return Refusal::kNotValid;
  if (entry->type == EntryType::kTask) return Refusal::kWrongType;
  if (entry->type == EntryType::kWindow) {
    if (entry->window_type == WindowType::k1) return Refusal::kNotInvalidable;
    if (entry->window_type == WindowType::k2B && entry->pd != who.pd) {
      return Refusal::kWrongDomain;
    }
    if (entry->qp != who.qp) return Refusal::kWrongQp;
    if (entry->remote != key) return Refusal::kStaleVariant;
  } else {
    if (entry->pd != who.pd) return Refusal::kWrongDomain;
    if (key != (origin == Origin::kLocal ? entry->local : entry->remote)) {
      return Refusal::kStaleVariant;
    }
    if (origin == Origin::kRemote && !entry->rights.HasAny(Access::kRemote)) {
      return Refusal::kNoRight;
    }
    if (!entry->by_work_request) return Refusal::kNotInvalidable;
    if (HasWindows(*entry)) return Refusal::kStillInUse;
  }
  entry->state = EntryState::kReserved;
  entry->touched = false;
  return std::nullopt;
}

Verdict<MemoryError> Reference::BeginTask(const TaskSpec& spec, const PageListBacking& list,
                                          std::optional<Key> made) {
  if (spaces.FindDomain(spec.pd) == nullptr) return MemoryError::kNoSuchDomain;
  const ConsumerRecord& owner = spaces.OwnerOf(spec.pd);
  if (!owner.MayUsePhysical()) return MemoryError::kNotPrivileged;
  if (list.guest != kHost || !IsGoodList(list, spec.length)) return MemoryError::kBadPageList;
  const uint64_t bytes = list.page_shift.bytes();
  if (spec.length > 0) {
    if (const auto no = spaces.CheckPageSet(list.pages.size(), bytes, std::nullopt)) return no;
  }
  if (keys.is_full()) return MemoryError::kLimitReached;
  if (!made.has_value()) return std::nullopt;
  Entry& task = Add(EntryType::kTask, spec.pd, {*made, *made});
  RegionSpec grant;
  grant.pd = spec.pd;
  grant.length = spec.length;
  grant.rights = spec.rights;
  Back(task, grant, list);
  Fill(task, grant);
  task.command = spec.command;
  task.command_reads = spec.reads;
  return std::nullopt;
}

Verdict<Refusal> Reference::EndTask(Key key, const Accessor& who) {
  Entry* task = Find(key.index());
  if (task == nullptr) return Refusal::kNoSuchKey;
  if (task->type != EntryType::kTask) return Refusal::kWrongType;
  if (task->pd != who.pd) return Refusal::kWrongDomain;
  if (task->remote != key) return Refusal::kStaleVariant;
  Remove(*task);
  return std::nullopt;
}

}  // namespace verbena::memory::model
