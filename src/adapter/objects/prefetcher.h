#pragma once

#include <atomic>
#include <cstdint>

#include "adapter/objects/srq.h"
#include "memory/access.h"
#include "queue/work_queue.h"
#include "transport/common/step.h"
#include "wire/roce/types.h"

namespace verbena::adapter {

// Requests the pages of work requests before they are needed. If all pages are present, it costs
// nothing: receive requests are checked for one round of their queue, and for another round after a
// message met absent buffers (ReceivePrefetch). Send requests are checked if they wait behind
// others.
//
// Owned by its queue pair. Thread rule: under the engine's lock, except prefetches_receives.
class Prefetcher {
 public:
  // `receives`: the capacity of its own receive queue.
  Prefetcher(QpNumber qp, memory::PdId pd, uint32_t receives)
      : qp_(qp), pd_(pd), receives_{.left = receives}, prefetches_receives_(receives > 0) {}

  // Requests of its own receive queue must be checked when they are posted. Any thread.
  [[nodiscard]] bool prefetches_receives() const {
    return prefetches_receives_.load(std::memory_order_relaxed);
  }

  // A message met absent buffers of its own receive queue...
  void BeginRound(const queue::ReceiveQueue& queue);
  // ...or of its shared queue.
  static void BeginRound(Srq& srq) { srq.looks.left = srq.capacity(); }

  // Checks all that were posted since the last call.
  void AtReceives(const queue::ReceiveQueue& queue, transport::Step& step);
  // Checks the oldest requests of its shared queue: whichever queue pair takes them, their pages
  // are present.
  void AtReceives(Srq& srq, transport::Step& step) const;
  // Checks those after `first_unsent`, which requests its own pages.
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
  std::atomic<bool> prefetches_receives_;  // some are left to check
  queue::WqeNumber next_send_;             // send requests before it were checked
};

}  // namespace verbena::adapter
