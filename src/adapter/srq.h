#pragma once

#include <cstdint>

#include "memory/access.h"
#include "queue/shared_receive_queue.h"
#include "wire/roce/types.h"

namespace verbena::adapter {

class Cq;
struct XrcDomain;

// What a shared receive queue of extended connections has beside.
struct XrcMembership {
  XrcDomain* domain = nullptr;  // nullptr if it is none
  Cq* cq = nullptr;
  wire::XrcSrqNumber number = {};
};

// A shared receive queue, with the domain that its buffers are of.
//
// Owned by the adapter. Thread rule: as its base; the rest under the engine's lock.
class Srq : public queue::SharedReceiveQueue {
 public:
  Srq(uint32_t capacity, uint32_t sges, memory::PdId pd, const XrcMembership& xrc = {})
      : queue::SharedReceiveQueue(capacity, sges), pd_(pd), xrc_(xrc) {}

  [[nodiscard]] memory::PdId pd() const { return pd_; }
  [[nodiscard]] const XrcMembership& xrc() const { return xrc_; }

  uint32_t users = 0;  // queue pairs

 private:
  const memory::PdId pd_;
  const XrcMembership xrc_;
};

}  // namespace verbena::adapter
