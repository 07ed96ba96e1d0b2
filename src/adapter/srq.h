#pragma once

#include <cstdint>

#include "memory/access.h"
#include "queue/shared_receive_queue.h"

namespace verbena::adapter {

// A shared receive queue, with the domain that its buffers are of.
//
// Owned by the adapter. Thread rule: as its base; the rest under the engine's lock.
class Srq : public queue::SharedReceiveQueue {
 public:
  Srq(uint32_t capacity, uint32_t sges, memory::PdId pd)
      : queue::SharedReceiveQueue(capacity, sges), pd_(pd) {}

  [[nodiscard]] memory::PdId pd() const { return pd_; }

  uint32_t users = 0;  // queue pairs

 private:
  const memory::PdId pd_;
};

}  // namespace verbena::adapter
