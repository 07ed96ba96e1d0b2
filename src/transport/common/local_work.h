#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/access.h"
#include "memory/memory_core.h"
#include "queue/completion.h"
#include "queue/work_queue.h"
#include "queue/wqe.h"
#include "transport/common/refusal_counters.h"
#include "transport/common/step.h"
#include "verbena/qp_state.h"

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

// The same for the elements of one send queue, whose queue pair allows registrations or not. Owned
// by the sending half of a queue pair.
class LocalWork {
 public:
  explicit LocalWork(const queue::SendQueue& queue) : queue_(queue) {
    pages_.reserve(queue.limits().pages_max);
  }

  [[nodiscard]] LocalOutcome Execute(queue::WqeNumber n, RegistrationMode registration,
                                     const memory::Accessor& who, Step& step);

 private:
  const queue::SendQueue& queue_;
  std::vector<memory::PhysicalAddress> pages_;  // of a registration; a member to keep its capacity
};

}  // namespace verbena::transport
