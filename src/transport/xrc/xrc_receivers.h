#pragma once

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "memory/spaces/protection_domain.h"
#include "queue/completion_queue.h"
#include "queue/shared_receive_queue.h"
#include "wire/roce/types.h"

namespace verbena::transport {

// The shared receive queues to which the extended connections of one domain deliver, by the number
// that each request carries (IBA A14). Each queue has its own completion queue and protection
// domain: a connection serves all processes of its node, and each message is for one of them.
//
// Owned by the adapter; outlives its connections; used by one thread at a time.
class XrcReceivers {
 public:
  struct Receiver {
    SrqNumber number = {};
    queue::SharedReceiveQueue* queue = nullptr;
    queue::CompletionQueue* cq = nullptr;
    memory::PdId pd = {};
  };

  // So that the next Add allocates nothing.
  void MakeRoom() { receivers_.reserve(receivers_.size() + 1); }
  // REQUIRES: no other receiver has its number.
  void Add(const Receiver& receiver) {
    CHECK(Find(receiver.number) == nullptr);
    receivers_.insert(Place(receiver.number), receiver);
  }
  // REQUIRES: it is present, and no connection uses it (RcQp::DropReceiver).
  void Remove(SrqNumber number) {
    CHECK(Find(number) != nullptr);
    receivers_.erase(Place(number));
  }

  [[nodiscard]] const Receiver* Find(SrqNumber number) const {
    const auto place = const_cast<XrcReceivers*>(this)->Place(number);
    return place != receivers_.end() && place->number == number ? &*place : nullptr;
  }
  [[nodiscard]] bool empty() const { return receivers_.empty(); }

 private:
  std::vector<Receiver>::iterator Place(SrqNumber number) {
    return std::ranges::lower_bound(receivers_, number, {}, &Receiver::number);
  }

  std::vector<Receiver> receivers_;  // in the order of their numbers
};

}  // namespace verbena::transport
