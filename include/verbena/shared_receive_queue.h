#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "verbena/completion_queue.h"
#include "verbena/error.h"
#include "verbena/handle.h"
#include "verbena/numbers.h"
#include "verbena/post_error.h"
#include "verbena/protection_domain.h"
#include "verbena/work_request.h"
#include "verbena/xrc_domain.h"

namespace verbena {

namespace verbs {
struct SrqObject;
}

// The result of posting a chain.
struct ChainResult {
  size_t posted = 0;  // requests that were posted; the next one was refused
  PostResult result = {};
};

// Receive requests for several queue pairs.
class SharedReceiveQueue : public Handle<verbs::SrqObject> {
 public:
  [[nodiscard]] static ErrorOr<SharedReceiveQueue> Create(const ProtectionDomain& domain,
                                                          uint32_t capacity, uint32_t sges_max = 1);
  // For extended reliable connections of `xrc`, whose messages name the queue by its number.
  // Receives complete in `cq`, and the keys of peers must belong to `domain`.
  [[nodiscard]] static ErrorOr<SharedReceiveQueue> CreateXrc(const ProtectionDomain& domain,
                                                             const XrcDomain& xrc,
                                                             const CompletionQueue& cq,
                                                             uint32_t capacity,
                                                             uint32_t sges_max = 1);
  // With tag matching, for reliable connections. A message that begins with a tag matching header
  // goes to the tagged receive that matches it, if there is one, without the header; after a
  // rendezvous request, the bytes that it names are read from the peer. All receives of the queue
  // pairs complete in `cq`. See docs/transport.md.
  [[nodiscard]] static ErrorOr<SharedReceiveQueue> CreateTagMatching(const ProtectionDomain& domain,
                                                                     const CompletionQueue& cq,
                                                                     uint32_t capacity,
                                                                     uint32_t sges_max,
                                                                     uint32_t tags_max);
  SharedReceiveQueue() = default;

  // REFUSES while a queue pair uses it. An XRC message that is in progress fails.
  [[nodiscard]] ErrorOr<void> Destroy();
  // REFUSES a capacity below the number of requests in it.
  [[nodiscard]] ErrorOr<void> Resize(uint32_t capacity);
  // Raises one event, kSrqLimitReached, when fewer than `limit` requests are left; 0 turns it off.
  [[nodiscard]] ErrorOr<void> SetLimit(uint32_t limit);

  [[nodiscard]] SrqId id() const;
  // The number that XRC senders use; 0 if the queue is not for XRC.
  [[nodiscard]] SrqNumber number() const;
  [[nodiscard]] uint32_t capacity() const;
  [[nodiscard]] uint32_t limit() const;  // 0 if it is not set, or was reached

  [[nodiscard]] PostResult Post(const Receive& request) const;
  [[nodiscard]] ChainResult PostChain(std::span<const Receive> requests) const;

  // Adds or removes a tagged receive, or synchronizes. Returns the handle of a receive that was
  // added. May wait for the adapter.
  [[nodiscard]] CodeOr<TagHandle> ChangeTags(const TagOperation& operation) const;

 private:
  explicit SharedReceiveQueue(std::shared_ptr<verbs::SrqObject> object)
      : Handle(std::move(object)) {}
};

}  // namespace verbena
