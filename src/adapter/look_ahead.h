#pragma once

#include <atomic>
#include <cstdint>

#include "adapter/srq.h"
#include "memory/access.h"
#include "queue/work_queue.h"
#include "transport/turn.h"
#include "wire/roce/types.h"

namespace verbena::adapter {

// Asks for the pages of a queue pair's work requests before they are missed. One that finds all of
// them pays nothing for it: receive requests are looked at for a round of their queue, and for
// another after a message met buffers that were absent (ReceiveLooks); of send requests those that
// have to wait for others.
//
// Owned by its queue pair. Thread rule: under the engine's lock; but any thread asks whether
// receives are looked at.
class LookAhead {
 public:
  // `receives`: how many its own receive queue takes.
  LookAhead(wire::QpNumber qp, memory::PdId pd, uint32_t receives)
      : qp_(qp), pd_(pd), receives_{.left = receives}, looks_at_receives_(receives > 0) {}

  // Requests of its own receive queue are to be looked at when they are posted. Any thread.
  [[nodiscard]] bool looks_at_receives() const {
    return looks_at_receives_.load(std::memory_order_relaxed);
  }

  // A message met buffers that were absent, of its own receive queue...
  void BeginRound(const queue::ReceiveQueue& queue);
  // ...or of one that it shares.
  static void BeginRound(Srq& srq) { srq.looks.left = srq.capacity(); }

  // All that were posted since the last time.
  void AtReceives(const queue::ReceiveQueue& queue, transport::Turn& turn);
  // The oldest of a queue that it shares: whoever takes them, they will be there.
  void AtReceives(Srq& srq, transport::Turn& turn) const;
  // Those behind `first_unsent`, which asks for its own.
  void AtSends(const queue::SendQueue& queue, queue::WqeNumber first_unsent, transport::Turn& turn);

 private:
  template <class Queue>
  void At(const Queue& queue, queue::WqeNumber end, memory::PdId pd, ReceiveLooks& looks,
          transport::Turn& turn) const;
  void Prefetch(const queue::Sge& sge, memory::Access access, memory::PdId pd,
                transport::Turn& turn) const;

  const wire::QpNumber qp_;
  const memory::PdId pd_;
  ReceiveLooks receives_;
  std::atomic<bool> looks_at_receives_;  // some are left
  queue::WqeNumber next_send_;           // send requests before it have been looked at
};

}  // namespace verbena::adapter
