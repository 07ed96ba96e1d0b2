#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <variant>

#include "memory/access.h"
#include "memory/spaces/protection_domain.h"
#include "queue/ids.h"
#include "queue/shared_receive_queue.h"
#include "queue/tag_matcher.h"
#include "queue/work_queue.h"
#include "wire/roce/syndrome.h"

namespace verbena::transport {

// Where a responder gets its receive requests: a queue of its own, one that it shares, or none. One
// that is shared may have tagged receives beside, which only a message with their tag gets.
//
// A reliable connection works on one message at a time, so at most one element is taken, and of a
// queue of our own that is always the oldest. Does not own the queue. Engine thread only.
class ReceiveSource {
 public:
  // An element that was taken. Good until it is finished.
  struct Element {
    WrId id;
    std::span<const Sge> sges;
    uint64_t length = 0;  // of all sges
    std::variant<queue::WqeNumber, queue::SharedReceiveQueue::Handle, queue::TagMatcher::Index>
        place;
    bool limit_reached = false;  // raise the SRQ limit event
  };

  ReceiveSource() = default;
  explicit ReceiveSource(queue::ReceiveQueue& own) : queue_(&own) {}
  // `pd`: the domain that the shared queue was made in.
  ReceiveSource(queue::SharedReceiveQueue& shared, memory::PdId pd,
                queue::TagMatcher* tags = nullptr)
      : queue_(&shared), tags_(tags), pd_(pd) {}

  [[nodiscard]] bool is_shared() const { return shared() != nullptr; }
  // nullptr if it is not.
  [[nodiscard]] queue::SharedReceiveQueue* shared() const {
    auto* const* const queue = std::get_if<queue::SharedReceiveQueue*>(&queue_);
    return queue != nullptr ? *queue : nullptr;
  }
  // nullptr if it does no tag matching.
  [[nodiscard]] queue::TagMatcher* tags() const { return tags_; }
  [[nodiscard]] bool Is(const queue::SharedReceiveQueue& queue) const { return shared() == &queue; }

  // In whose name the buffers of an element are written. Those of a shared queue are of the queue's
  // own protection domain, whatever the domain of the queue pair that took the element.
  [[nodiscard]] memory::Accessor AccessorFor(const memory::Accessor& qp) const {
    return {.pd = is_shared() ? pd_ : qp.pd, .qp = qp.qp};
  }

  // Nothing is posted.
  [[nodiscard]] bool empty() const {
    if (is_shared()) return shared()->size() == 0;
    return own() == nullptr || own()->begin() == own()->end();
  }

  // The oldest element. REQUIRES: the one taken before is finished.
  [[nodiscard]] std::optional<Element> Take() {
    if (empty()) return std::nullopt;
    if (is_shared()) {
      const std::optional<queue::SharedReceiveQueue::Taken> taken = shared()->Take();
      if (!taken) return std::nullopt;
      const auto& handle = taken->handle;
      return Element{handle.wqe().id, handle.sges(), handle.length(), handle, taken->limit_reached};
    }
    const queue::WqeNumber n = own()->begin();
    return Element{own()->At(n).id, own()->SgesAt(n), own()->LengthAt(n), n, false};
  }

  // The oldest tagged one for such a message. REQUIRES: tags(), and as above.
  [[nodiscard]] std::optional<Element> TakeTagged(uint64_t tag) {
    const std::optional<queue::TagMatcher::Index> found = tags_->Match(tag);
    if (!found) return std::nullopt;
    return Element{tags_->IdOf(*found), tags_->SgesOf(*found), tags_->LengthOf(*found), *found,
                   false};
  }

  // Its place may be posted to again.
  void Finish(const Element& element) {
    if (const auto* const tagged = std::get_if<queue::TagMatcher::Index>(&element.place)) {
      tags_->Give(*tagged);
    } else if (is_shared()) {
      shared()->Give(std::get<queue::SharedReceiveQueue::Handle>(element.place));
    } else {
      own()->Retire(std::get<queue::WqeNumber>(element.place));
    }
  }

  // IBA 9.7.7.2: how many messages the peer may send beyond those that are counted in the MSN. The
  // message in progress is not counted there yet, so its element is one of them. One without a
  // queue of its own cannot promise any.
  [[nodiscard]] wire::CreditCode credits() const {
    if (own() == nullptr) return wire::kCreditsInvalid;
    const uint64_t posted = own()->end().value() - own()->begin().value();
    return wire::CreditCodeAtMost(
        static_cast<uint32_t>(std::min<uint64_t>(posted, std::numeric_limits<uint32_t>::max())));
  }

 private:
  queue::ReceiveQueue* own() const {
    auto* const* const queue = std::get_if<queue::ReceiveQueue*>(&queue_);
    return queue != nullptr ? *queue : nullptr;
  }

  std::variant<queue::ReceiveQueue*, queue::SharedReceiveQueue*> queue_ =
      static_cast<queue::ReceiveQueue*>(nullptr);
  queue::TagMatcher* tags_ = nullptr;
  memory::PdId pd_ = {};  // of a shared queue
};

}  // namespace verbena::transport
