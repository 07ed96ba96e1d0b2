#pragma once

#include "memory/memory_core.h"
#include "memory/protection/translation.h"
#include "odp/managed_pages.h"
#include "odp/page_service.h"

namespace verbena::odp {

// Finds pages of this process that are resident although they are absent from the tables, for
// example because the program has used them. Leaves out managed memory, whose pages may be about to
// leave.
//
// Owned by the engine, and used under its lock.
class ResidentPages {
 public:
  ResidentPages(memory::MemoryCore& memory, const ManagedPages* managed, PageService& pages)
      : memory_(memory), managed_(managed), pages_(pages) {}

  // Enters the resident pages of the fault into the tables, from the first one on. False if the
  // first is not resident. Takes a system call.
  [[nodiscard]] bool Map(const memory::Fault& fault, Time now);

 private:
  memory::MemoryCore& memory_;
  const ManagedPages* const managed_;  // nullptr: there is none
  PageService& pages_;
};

}  // namespace verbena::odp
