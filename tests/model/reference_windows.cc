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

Result<Entry*, Denial> Reference::CheckWindow(Key key, const WindowBinding& binding,
                                              const Accessor& who) const {
  Entry* window = Find(key.index());
  if (window == nullptr) return Fail(Denial::kNoSuchKey);
  if (window->type != EntryType::kWindow) return Fail(Denial::kWrongType);
  if (window->pd != who.pd) return Fail(Denial::kWrongDomain);
  if (window->remote != key && !binding.by_index) return Fail(Denial::kStaleInstance);
  if (window->window_type != WindowType::kType1) {
    if (binding.length == 0) return Fail(Denial::kOutOfRange);
    if (window->state == EntryState::kValid) return Fail(Denial::kStillInUse);
    if (!binding.instance.has_value()) return Fail(Denial::kSameInstance);
    return window;
  }
  if (binding.instance == window->remote.instance()) return Fail(Denial::kSameInstance);
  return window;
}

// Row A2: may the region's owner itself touch these bytes, now?
bool Reference::OwnerMay(const Entry& region, uint64_t offset, uint64_t length,
                         Rights needed) const {
  const ConsumerRecord& owner = spaces.OwnerOf(region.pd);
  if (region.address_kind == AddressKind::kVirtual) return true;
  if (region.of_address_space) return owner.MayAccess(region.start + offset, length, needed);
  if (!region.pages->linear_base.has_value()) return true;
  const uint64_t base = *region.pages->linear_base + region.first_offset;
  return owner.MayAccess(base + offset, length, needed);
}

// The key that its owner chose, or that the table made.
void Reference::Rename(Entry& window, std::optional<Instance> chosen, Key made) {
  if (!chosen.has_value()) return Renew(window, {made, made});
  window.local = window.remote = Key(window.remote.index(), *chosen);
  keys.Choose(window.remote);
}

Verdict<Denial> Reference::Bind(Key key, const WindowBinding& binding, const Accessor& who,
                                std::optional<Key> made) {
  const auto found = CheckWindow(key, binding, who);
  if (!found.has_value()) return found.error();
  Entry& window = **found;
  const auto needed_for = [](Rights rights) {
    Rights needed;
    if (rights.Has(Rights::kRemoteRead)) needed = needed | Rights::kLocalRead;
    if (rights.Has(Rights::kRemoteWrite)) needed = needed | Rights::kLocalWrite;
    if (rights.Has(Rights::kRemoteAtomic)) needed = needed | Rights::kLocalWrite;
    return needed;
  };
  if (binding.length == 0) {
    if (window.state == EntryState::kValid &&
        !OwnerMay(*window.region, window.offset, window.length, needed_for(window.rights))) {
      return Denial::kOwnerHasNoRight;
    }
    if (!made.has_value()) return std::nullopt;
    window.state = EntryState::kReserved;
    window.touched = false;
    Rename(window, binding.instance, *made);
    return std::nullopt;
  }

  const uint64_t start = binding.start.value();
  const auto no = Authorize(binding.region, start, binding.length, Access::kBind, who);
  if (no.has_value()) return no;
  Entry& region = *Find(binding.region.index());
  if (!Rights::kRemote.Has(binding.rights)) return Denial::kRightsTooWide;
  const Rights needed = needed_for(binding.rights);
  if (!region.rights.Has(needed)) return Denial::kRightsTooWide;
  const uint64_t offset = start - region.start;
  if (!OwnerMay(region, offset, binding.length, needed)) return Denial::kOwnerHasNoRight;
  if (!made.has_value()) return std::nullopt;

  Rename(window, binding.instance, *made);
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

Verdict<Denial> Reference::Invalidate(Key key, Origin origin, const Accessor& who) {
  Entry* entry = Find(key.index());
  if (entry == nullptr) return Denial::kNoSuchKey;
  if (entry->state == EntryState::kSwappedOut) return Denial::kSwappedOut;
  if (entry->state != EntryState::kValid) return Denial::kNotValid;
  if (entry->type == EntryType::kTask) return Denial::kWrongType;
  if (entry->type == EntryType::kWindow) {
    if (entry->window_type == WindowType::kType1) return Denial::kNotInvalidable;
    if (entry->window_type == WindowType::kType2B && entry->pd != who.pd) {
      return Denial::kWrongDomain;
    }
    if (entry->qp != who.qp) return Denial::kWrongQp;
    if (entry->remote != key) return Denial::kStaleInstance;
  } else {
    if (entry->pd != who.pd) return Denial::kWrongDomain;
    if (key != (origin == Origin::kLocal ? entry->local : entry->remote)) {
      return Denial::kStaleInstance;
    }
    if (origin == Origin::kRemote && !entry->rights.HasAny(Rights::kRemote)) {
      return Denial::kNoRight;
    }
    if (!entry->by_work_request) return Denial::kNotInvalidable;
    if (HasWindows(*entry)) return Denial::kStillInUse;
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
  if (!IsGoodList(list, spec.length)) return MemoryError::kBadPageList;
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

Verdict<Denial> Reference::EndTask(Key key, const Accessor& who) {
  Entry* task = Find(key.index());
  if (task == nullptr) return Denial::kNoSuchKey;
  if (task->type != EntryType::kTask) return Denial::kWrongType;
  if (task->pd != who.pd) return Denial::kWrongDomain;
  if (task->remote != key) return Denial::kStaleInstance;
  Remove(*task);
  return std::nullopt;
}

}  // namespace verbena::memory::model
