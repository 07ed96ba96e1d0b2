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

// Where a responder gets its receive requests: its own queue, a shared queue, or none. A shared
// queue may also have tagged receives, which only messages with their tag use.
//
// A reliable connection works on one message at a time, so at most one element is taken. In the
// queue pair's own queue, that is always the oldest. Does not own the queue. Engine thread only.
class ReceiveSource {
 public:
  // An element that was taken. Valid until it is finished.
  struct Element {
    WrId id;
    std::span<const Sge> sges;
    uint64_t length = 0;  // of all sges
    std::variant<queue::WqeNumber, queue::SharedReceiveQueue::Handle, queue::TagMatcher::Index>
        place;
    bool limit_reached = false;  // the SRQ limit event must be raised
    bool fills = false;          // see ReceiveWqe
  };

  ReceiveSource() = default;
  explicit ReceiveSource(queue::ReceiveQueue& own) : queue_(&own) {}
  // `pd`: the protection domain of the shared queue.
  ReceiveSource(queue::SharedReceiveQueue& shared, memory::PdId pd,
                queue::TagMatcher* tags = nullptr)
      : queue_(&shared), tags_(tags), pd_(pd) {}

  [[nodiscard]] bool is_shared() const { return shared() != nullptr; }
  // nullptr if the queue is not shared.
  [[nodiscard]] queue::SharedReceiveQueue* shared() const {
    auto* const* const queue = std::get_if<queue::SharedReceiveQueue*>(&queue_);
    return queue != nullptr ? *queue : nullptr;
  }
  // nullptr if the queue does no tag matching.
  [[nodiscard]] queue::TagMatcher* tags() const { return tags_; }
  [[nodiscard]] bool Is(const queue::SharedReceiveQueue& queue) const { return shared() == &queue; }

  // The accessor for the buffers of an element. Buffers of a shared queue belong to the protection
  // domain of the queue, and not to that of the queue pair that took the element.
  [[nodiscard]] memory::Accessor AccessorFor(const memory::Accessor& qp) const {
    return {.pd = is_shared() ? pd_ : qp.pd, .qp = qp.qp};
  }

  // No request is posted.
  [[nodiscard]] bool empty() const {
    if (is_shared()) return shared()->size() == 0;
    return own() == nullptr || own()->begin() == own()->end();
  }

  // The oldest element. REQUIRES: the element taken before is finished.
  [[nodiscard]] std::optional<Element> Take() {
    if (empty()) return std::nullopt;
    if (is_shared()) {
      const std::optional<queue::SharedReceiveQueue::Taken> taken = shared()->Take();
      if (!taken) return std::nullopt;
      const auto& handle = taken->handle;
      return Element{handle.wqe().id, handle.sges(), handle.length(), handle, taken->limit_reached};
    }
    const queue::WqeNumber n = own()->begin();
    return Element{own()->At(n).id, own()->SgesAt(n),  own()->LengthAt(n), n,
                   false,           own()->At(n).fills};
  }

  // The oldest tagged receive for the tag. REQUIRES: tags() is not null, and as above.
  [[nodiscard]] std::optional<Element> TakeTagged(uint64_t tag) {
    const std::optional<queue::TagMatcher::Index> found = tags_->Match(tag);
    if (!found) return std::nullopt;
    return Element{tags_->IdOf(*found), tags_->SgesOf(*found), tags_->LengthOf(*found), *found,
                   false};
  }

  // Frees the place of the element.
  void Finish(const Element& element) {
    if (const auto* const tagged = std::get_if<queue::TagMatcher::Index>(&element.place)) {
      tags_->Give(*tagged);
    } else if (is_shared()) {
      shared()->Give(std::get<queue::SharedReceiveQueue::Handle>(element.place));
    } else {
      own()->Retire(std::get<queue::WqeNumber>(element.place));
    }
  }

  // IBA 9.7.7.2: how many messages the peer may send beyond those that the MSN counts. The MSN does
  // not count the message in progress, so its element is among them. Without a queue of its own, a
  // queue pair grants no credits.
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
