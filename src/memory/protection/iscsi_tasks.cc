#include "memory/protection/iscsi_tasks.h"

#include "base/rollback.h"
#include "memory/protection/page_list.h"

namespace verbena::memory {

MemoryResult<Key> IscsiTasks::Begin(const TaskSpec& spec, const PageListBacking& backing) {
  if (domains_.Find(spec.pd) == nullptr) return Fail(MemoryError::kNoSuchDomain);
  if (!domains_.OwnerOf(spec.pd)->MayUsePhysical()) return Fail(MemoryError::kNotPrivileged);
  if (backing.guest != kHost || !CoversLength(backing, spec.length) ||
      !MayList(store_, kMachineSpace, backing)) {
    return Fail(MemoryError::kBadPageList);
  }
  TranslationTable* pages = nullptr;
  Rollback created([&] {
    if (pages != nullptr) store_.Release(pages);
  });
  if (spec.length > 0) {
    const auto made =
        store_.Create(backing.pages.size(), backing.page_shift, kMachineSpace, std::nullopt);
    if (!made.has_value()) return Fail(made.error());
    pages = *made;
    MapPageList(store_, *pages, backing);
  }
  const auto slot = table_.Take(EntryType::kTask, spec.pd, false);
  if (!slot.has_value()) return Fail(MemoryError::kLimitReached);
  created.Keep();
  domains_.AddUser(spec.pd);
  ProtectionEntry& entry = table_.EntryAt(*slot);
  entry.length = spec.length;
  entry.table = pages;
  entry.first_offset = static_cast<uint32_t>(backing.first_offset);
  entry.task = {spec.command, spec.reads};
  entry.rights = spec.rights;
  entry.zero_based = true;
  entry.was_valid = true;
  entry.state = EntryState::kValid;
  return table_.RemoteKey(*slot);
}

Result<uint64_t, Refusal> IscsiTasks::End(Key task, const Accessor& who) {
  const ProtectionEntry* entry = table_.Find(task.index());
  if (entry == nullptr || !entry->is_live()) return Fail(Refusal::kNoSuchKey);
  if (entry->type != EntryType::kTask) return Fail(Refusal::kWrongType);
  if (entry->pd != who.pd) return Fail(Refusal::kWrongDomain);
  if (entry->remote_variant != task.variant()) return Fail(Refusal::kStaleVariant);
  const uint64_t command = entry->task.command;
  if (entry->table != nullptr) store_.Release(entry->table);
  domains_.DropUser(entry->pd);
  table_.Give(table_.SlotOf(task));
  return command;
}

}  // namespace verbena::memory
