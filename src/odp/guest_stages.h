#pragma once

#include <cstdint>
#include <optional>

#include "memory/memory_core.h"
#include "odp/page_job.h"

namespace verbena::odp {

// Page faults of regions on managed memory, by the stage that had no page there, and by who
// resolves them (row E7).
struct StageFaults {
  uint64_t first = 0;    // the adapter, as the driver of the guest: it knows where the page is
  uint64_t second = 0;   // the arena, which acts for the host: it brings the page into memory
  uint64_t present = 0;  // of the first stage: the second had the page, and the arena was not asked
};

// The machine address of a byte of a guest whose memory is in one piece; nullopt if the guest is
// gone, or has no such byte.
[[nodiscard]] std::optional<uint64_t> MachineAddressIn(const memory::MemoryCore& memory,
                                                       memory::GuestKey guest, uint64_t physical);

// Enters the pages of the job into the first stage of its region, up to the end of the leaf on
// either side if `widens`: an entry costs a byte, and the next access needs no fault. False if the
// region has gone or moved meanwhile. Throws std::bad_alloc.
[[nodiscard]] bool EnterFirstStage(memory::MemoryCore& memory, const PageJob& job, bool widens);

// How many pages of the job, from the first on, the second stage has.
[[nodiscard]] uint64_t CountInSecondStage(const memory::MemoryCore& memory, const PageJob& job);

// Enters the pages that were paged in into the second stage. False if there are none, or if the
// guest has gone meanwhile.
[[nodiscard]] bool EnterSecondStage(memory::MemoryCore& memory, const PageJob& job);

}  // namespace verbena::odp
