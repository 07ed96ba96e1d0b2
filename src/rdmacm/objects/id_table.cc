#include "rdmacm/objects/id_table.h"

namespace verbena::rdmacm {

IdKey IdTable::Add(Id& id) {
  const MutexLock lock(mutex_);
  ids_.emplace(last_ + 1, &id);
  return IdKey{++last_};
}

void IdTable::Remove(IdKey key) {
  const MutexLock lock(mutex_);
  ids_.erase(key.value());
}

IdTable& TheIdTable() {
  static IdTable& table = *new IdTable;
  return table;
}

}  // namespace verbena::rdmacm
