#pragma once

#include <cstdint>

#include "base/slot_table.h"
#include "memory/access.h"
#include "memory/memory_error.h"
#include "memory/spaces/consumers.h"

namespace verbena::memory {

// Which objects may work together: a queue pair reaches a region or window only when both are of
// one protection domain. A domain belongs to one consumer.
struct DomainRecord {
  ConsumerId owner;
  uint32_t users = 0;  // regions, windows, tasks; the verbs layer counts queue pairs likewise
};

// One thread at a time.
class ProtectionDomains {
 public:
  ProtectionDomains(Consumers& consumers, uint32_t domains_max)
      : consumers_(consumers), domains_(domains_max) {}

  MemoryResult<PdId> Allocate(ConsumerId owner);
  // Fails with kInUse while objects belong to the domain.
  MemoryResult<void> Deallocate(PdId pd);

  const DomainRecord* Find(PdId pd) const { return domains_.Find(pd); }
  // Null when there is no such domain.
  const Consumer* OwnerOf(PdId pd) const;

  void AddUser(PdId pd);
  void DropUser(PdId pd);

  uint64_t size() const { return domains_.size(); }
  bool IsConsistent() const { return domains_.IsConsistent(); }

 private:
  Consumers& consumers_;
  SlotTable<DomainRecord, PdId, 16> domains_;
};

}  // namespace verbena::memory
