#pragma once

#include <cstdint>

#include "adapter/pager.h"
#include "memory/memory_core.h"
#include "transport/outbox.h"

namespace verbena::adapter {

// Where the pages are that a queue pair waits for: at most `bytes_max` of them, and always one. A
// request for pages that nobody can bring, of a region that has gone or of a list of frames, is for
// none, and so comes back refused.
[[nodiscard]] PageJob JobFor(const memory::MemoryCore& memory,
                             const transport::PageRequest& request, uint64_t bytes_max);

// The pages that came are in the tables from now on. False if none came, or if their region has
// gone meanwhile.
[[nodiscard]] bool MapPages(memory::MemoryCore& memory, const PageJob& job);

}  // namespace verbena::adapter
