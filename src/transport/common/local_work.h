#pragma once

#include <cstdint>
#include <span>

#include "memory/access.h"
#include "memory/memory_core.h"
#include "queue/completion.h"
#include "queue/wqe.h"
#include "transport/common/refusal_counters.h"
#include "transport/common/step.h"

namespace verbena::transport {

// The result of an element, or of its local part.
struct LocalOutcome {
  CompletionStatus status = CompletionStatus::kSuccess;
  VendorError vendor_error = 0;

  friend bool operator==(const LocalOutcome&, const LocalOutcome&) = default;
};

// Executes the part of a send-queue element that changes only the tables of this adapter: bind,
// invalidate, register (of `pages`). Success for an element that has no such part.
[[nodiscard]] LocalOutcome ExecuteLocally(const queue::SendWqe& wqe,
                                          std::span<const memory::PhysicalAddress> pages,
                                          const memory::Accessor& who, Step& step);

}  // namespace verbena::transport
