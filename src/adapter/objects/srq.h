#pragma once

#include <cstdint>
#include <optional>

#include "memory/access.h"
#include "queue/shared_receive_queue.h"
#include "queue/tag_matcher.h"
#include "wire/roce/types.h"

namespace verbena::adapter {

class Cq;
class EventQueue;
struct XrcDomain;

// The additional members of an SRQ for extended connections.
struct XrcMembership {
  XrcDomain* domain = nullptr;  // nullptr if it is not for XRC
  Cq* cq = nullptr;
  SrqNumber number = {};
};

// The additional members of an SRQ with tag matching.
struct TagMatching {
  uint32_t tags_max = 0;  // 0 if it has no tag matching
  Cq* cq = nullptr;       // for all receives of its queue pairs
};

// How far the requests of a receive queue were checked for absent pages, and how many are left to
// check: one round of the queue at first, and another round after a message met absent pages.
struct ReceivePrefetch {
  queue::WqeNumber next = {};  // the requests before it were checked
  uint32_t left = 0;
};

// A shared receive queue, with the protection domain of its buffers.
//
// Owned by the adapter. Thread rule: as its base; the rest under the engine's lock.
class Srq : public queue::SharedReceiveQueue {
 public:
  Srq(uint32_t capacity, uint32_t sges, memory::PdId pd, EventQueue* events = nullptr,
      const XrcMembership& xrc = {}, const TagMatching& matching = {})
      : queue::SharedReceiveQueue(capacity, sges),
        looks{.left = capacity},
        pd_(pd),
        events_(events),
        xrc_(xrc),
        tag_cq_(matching.cq) {
    if (matching.tags_max > 0) tags_.emplace(matching.tags_max, sges);
  }

  [[nodiscard]] memory::PdId pd() const { return pd_; }
  // The queue for its asynchronous events; nullptr: they are dropped.
  [[nodiscard]] EventQueue* events() const { return events_; }
  [[nodiscard]] const XrcMembership& xrc() const { return xrc_; }
  // Both are nullptr if it has no tag matching.
  [[nodiscard]] queue::TagMatcher* tags() { return tags_ ? &*tags_ : nullptr; }
  [[nodiscard]] Cq* tag_cq() const { return tag_cq_; }

  uint32_t users = 0;     // queue pairs
  ReceivePrefetch looks;  // by any of the queue pairs

 private:
  const memory::PdId pd_;
  EventQueue* const events_;
  const XrcMembership xrc_;
  Cq* const tag_cq_;
  std::optional<queue::TagMatcher> tags_;
};

}  // namespace verbena::adapter
