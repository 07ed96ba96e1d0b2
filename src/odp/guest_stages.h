#pragma once

#include <cstdint>
#include <optional>

#include "memory/memory_core.h"
#include "odp/page_job.h"

namespace verbena::odp {

// Page faults of regions on managed memory, counted by the stage that lacked the page and by what
// resolves them (row E7).
struct StageFaults {
  uint64_t first = 0;   // the adapter, as the guest's driver, knows where the page is
  uint64_t second = 0;  // the arena, which acts for the host, pages it in
  // of the first stage: the second stage had the page, so the arena was not asked
  uint64_t present = 0;
};

// The machine address of a byte of a guest with contiguous memory; nullopt if the guest was
// destroyed or has no such byte.
[[nodiscard]] std::optional<uint64_t> MachineAddressIn(const memory::MemoryCore& memory,
                                                       memory::GuestKey guest, uint64_t physical);

// Enters the pages of the job into the first stage of its region. With `widens`, up to the end of
// the leaf on either side: an entry costs a byte, and the next access needs no fault. False if the
// region was deregistered or moved meanwhile. Throws std::bad_alloc.
[[nodiscard]] bool EnterFirstStage(memory::MemoryCore& memory, const PageJob& job, bool widens);

// How many pages of the job, from the first on, are present in the second stage.
[[nodiscard]] uint64_t CountInSecondStage(const memory::MemoryCore& memory, const PageJob& job);

// Enters the pages that were paged in into the second stage. False if no page was paged in, or the
// guest was destroyed meanwhile.
[[nodiscard]] bool EnterSecondStage(memory::MemoryCore& memory, const PageJob& job);

}  // namespace verbena::odp
