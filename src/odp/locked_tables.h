#pragma once

#include "base/mutex.h"
#include "memory/memory_core.h"

namespace verbena::odp {

// The memory tables of an adapter and the lock that guards them: the part of an engine that paging
// needs. Paging threads also take the lock when pages enter and leave the tables.
class VERBENA_CAPABILITY("engine") LockedTables {
 public:
  explicit LockedTables(const memory::MemoryOptions& options) : memory(options) {}
  LockedTables(const LockedTables&) = delete;
  LockedTables& operator=(const LockedTables&) = delete;

  virtual void Lock() VERBENA_ACQUIRE() = 0;
  virtual void Unlock() VERBENA_RELEASE() = 0;
  // Tells the thread-safety analysis that the caller holds the lock. Test builds check it.
  virtual void AssertHeld() const VERBENA_ASSERT_HELD(this) = 0;

  // Public because control calls change it.
  memory::MemoryCore memory VERBENA_GUARDED_BY(this);

 protected:
  ~LockedTables() = default;
};

// Holds the lock from its construction to its destruction.
class VERBENA_SCOPED_CAPABILITY TablesLock {
 public:
  [[nodiscard]] explicit TablesLock(LockedTables& tables) VERBENA_ACQUIRE(tables)
      : tables_(tables) {
    tables_.Lock();
  }
  TablesLock(const TablesLock&) = delete;
  TablesLock& operator=(const TablesLock&) = delete;
  ~TablesLock() VERBENA_RELEASE() { tables_.Unlock(); }

 private:
  LockedTables& tables_;
};

}  // namespace verbena::odp
