#pragma once

#include <cstdint>
#include <span>

#include "memory/access.h"
#include "memory/memory_core.h"
#include "queue/completion.h"
#include "queue/wqe.h"

namespace verbena::transport {

// Executes the part of a send-queue element that concerns the tables of this adapter alone: bind,
// invalidate, register (of `pages`). Success for elements that have none.
queue::CompletionStatus ExecuteLocally(const queue::SendWqe& wqe,
                                       std::span<const memory::PhysicalAddress> pages,
                                       const memory::Accessor& who, memory::MemoryCore& memory);

}  // namespace verbena::transport
