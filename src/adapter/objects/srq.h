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

// What a shared receive queue of extended connections has beside.
struct XrcMembership {
  XrcDomain* domain = nullptr;  // nullptr if it is none
  Cq* cq = nullptr;
  SrqNumber number = {};
};

// What one that matches tags has beside.
struct TagMatching {
  uint32_t tags_max = 0;  // 0 if it does not
  Cq* cq = nullptr;       // where all receives of its queue pairs complete
};

// How far the requests of a receive queue have been looked at for pages that are absent, and how
// many are still to be: a round of the queue at first, and another after a message met some.
struct ReceivePrefetch {
  queue::WqeNumber next = {};  // those before it have been
  uint32_t left = 0;
};

// A shared receive queue, with the domain that its buffers are of.
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
  // Where its asynchronous events go; nullptr: nowhere.
  [[nodiscard]] EventQueue* events() const { return events_; }
  [[nodiscard]] const XrcMembership& xrc() const { return xrc_; }
  // nullptr, both, if it does not match tags.
  [[nodiscard]] queue::TagMatcher* tags() { return tags_ ? &*tags_ : nullptr; }
  [[nodiscard]] Cq* tag_cq() const { return tag_cq_; }

  uint32_t users = 0;     // queue pairs
  ReceivePrefetch looks;  // by any of them

 private:
  const memory::PdId pd_;
  EventQueue* const events_;
  const XrcMembership xrc_;
  Cq* const tag_cq_;
  std::optional<queue::TagMatcher> tags_;
};

}  // namespace verbena::adapter
