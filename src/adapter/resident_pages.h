#pragma once

#include "adapter/pager.h"
#include "memory/memory_core.h"
#include "memory/translation.h"
#include "transport/resident_pages.h"

namespace verbena::adapter {

// Pages of this process, of which the system knows which are in memory.
//
// Owned by the engine, and used under its lock.
class ResidentPages final : public transport::ResidentPages {
 public:
  ResidentPages(memory::MemoryCore& memory, Pager& pager) : memory_(memory), pager_(pager) {}

  [[nodiscard]] bool Map(const memory::Fault& fault) override;

 private:
  memory::MemoryCore& memory_;
  Pager& pager_;
};

}  // namespace verbena::adapter
