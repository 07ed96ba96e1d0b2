#pragma once

#include "adapter/managed_pages.h"
#include "adapter/page_service.h"
#include "memory/memory_core.h"
#include "memory/translation.h"
#include "transport/resident_pages.h"

namespace verbena::adapter {

// Pages of this process, of which the system knows which are in memory. Those of managed memory are
// not among them: they may be about to leave.
//
// Owned by the engine, and used under its lock.
class ResidentPages final : public transport::ResidentPages {
 public:
  ResidentPages(memory::MemoryCore& memory, const ManagedPages* managed, PageService& pages)
      : memory_(memory), managed_(managed), pages_(pages) {}

  [[nodiscard]] bool Map(const memory::Fault& fault) override;

 private:
  memory::MemoryCore& memory_;
  const ManagedPages* const managed_;  // nullptr: there is none
  PageService& pages_;
};

}  // namespace verbena::adapter
