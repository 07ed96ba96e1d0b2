#pragma once

#include <atomic>
#include <cstdint>

#include "adapter/objects/srq.h"
#include "memory/access.h"
#include "queue/work_queue.h"
#include "transport/common/step.h"
#include "wire/roce/types.h"

namespace verbena::adapter {

// Asks for the pages of a queue pair's work requests before they are missed. One that finds all of
// them pays nothing for it: receive requests are looked at for a round of their queue, and for
// another after a message met buffers that were absent (ReceivePrefetch); of send requests those
// that have to wait for others.
//
// Owned by its queue pair. Thread rule: under the engine's lock; but any thread asks whether
// receives are looked at.
class Prefetcher {
 public:
  // `receives`: how many its own receive queue takes.
  Prefetcher(QpNumber qp, memory::PdId pd, uint32_t receives)
      : qp_(qp), pd_(pd), receives_{.left = receives}, prefetches_receives_(receives > 0) {}

  // Requests of its own receive queue are to be looked at when they are posted. Any thread.
  [[nodiscard]] bool prefetches_receives() const {
    return prefetches_receives_.load(std::memory_order_relaxed);
  }

  // A message met buffers that were absent, of its own receive queue...
  void BeginRound(const queue::ReceiveQueue& queue);
  // ...or of one that it shares.
  static void BeginRound(Srq& srq) { srq.looks.left = srq.capacity(); }

  // All that were posted since the last time.
  void AtReceives(const queue::ReceiveQueue& queue, transport::Step& step);
  // The oldest of a queue that it shares: any member may take them, and they will be there.
  void AtReceives(Srq& srq, transport::Step& step) const;
  // Those behind `first_unsent`, which asks for its own.
  void AtSends(const queue::SendQueue& queue, queue::WqeNumber first_unsent, transport::Step& step);

 private:
  template <class Queue>
  void At(const Queue& queue, queue::WqeNumber end, memory::PdId pd, ReceivePrefetch& looks,
          transport::Step& step) const;
  void Prefetch(const Sge& sge, memory::AccessKind access, memory::PdId pd,
                transport::Step& step) const;

  const QpNumber qp_;
  const memory::PdId pd_;
  ReceivePrefetch receives_;
  std::atomic<bool> prefetches_receives_;  // some are left
  queue::WqeNumber next_send_;             // send requests before it have been looked at
};

}  // namespace verbena::adapter
