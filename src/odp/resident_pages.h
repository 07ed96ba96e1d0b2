#pragma once

#include <cstdint>

#include "base/time.h"
#include "memory/memory_core.h"
#include "memory/protection/translation.h"
#include "odp/managed_pages.h"
#include "odp/page_service.h"

namespace verbena::odp {

// Finds pages of this process that are resident although they are absent from the tables, for
// example because the program has used them. Ignores managed memory, whose pages may be about to be
// evicted.
//
// Owned by the engine, and used under its lock.
class ResidentPages {
 public:
  ResidentPages(memory::MemoryCore& memory, const ManagedPages* managed, PageService& pages)
      : memory_(memory), managed_(managed), pages_(pages) {}

  // Enters the resident pages of the fault into the tables, from the first one on. False if the
  // first is not resident. Makes a system call, unless another request has entered the pages.
  [[nodiscard]] bool Map(const memory::Fault& fault, Time now);
  // Whether to try Map for a request that can also wait. While a program touches memory for the
  // first time by RDMA, no page is resident and every try fails; then only one in kTryEvery is
  // made.
  [[nodiscard]] bool IsWorthATry() { return misses_ < kMissesMax || ++skipped_ % kTryEvery == 0; }

 private:
  static constexpr uint32_t kMissesMax = 4;
  static constexpr uint32_t kTryEvery = 16;

  memory::MemoryCore& memory_;
  const ManagedPages* const managed_;  // nullptr: there is no managed memory
  PageService& pages_;
  uint32_t misses_ = 0;   // consecutive tries that found no page
  uint32_t skipped_ = 0;  // tries that were not made
};

}  // namespace verbena::odp
