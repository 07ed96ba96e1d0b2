#pragma once

#include "memory/memory_core.h"
#include "memory/protection/translation.h"
#include "odp/managed_pages.h"
#include "odp/page_service.h"

namespace verbena::odp {

// Pages of this process that are in memory although the tables do not know them, as those of a
// program that has used them are. Those of managed memory are not among them: they may be about to
// leave.
//
// Owned by the engine, and used under its lock.
class ResidentPages {
 public:
  ResidentPages(memory::MemoryCore& memory, const ManagedPages* managed, PageService& pages)
      : memory_(memory), managed_(managed), pages_(pages) {}

  // Enters those of the fault's pages that are there in the tables, from the first one on. False if
  // that one is not. Takes a system call.
  [[nodiscard]] bool Map(const memory::Fault& fault, Time now);

 private:
  memory::MemoryCore& memory_;
  const ManagedPages* const managed_;  // nullptr: there is none
  PageService& pages_;
};

}  // namespace verbena::odp
