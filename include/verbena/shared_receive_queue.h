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

// How far a chain got.
struct ChainResult {
  size_t posted = 0;  // requests that stand; the next one was refused
  PostResult result = {};
};

// Receive requests that several queue pairs take from.
class SharedReceiveQueue : public Handle<verbs::SrqObject> {
 public:
  [[nodiscard]] static ErrorOr<SharedReceiveQueue> Create(const ProtectionDomain& domain,
                                                          uint32_t capacity, uint32_t sges_max = 1);
  // For extended reliable connections of `xrc`, whose messages name it by its number. What arrives
  // completes in `cq`, and the keys of peers are those of `domain`.
  [[nodiscard]] static ErrorOr<SharedReceiveQueue> CreateXrc(const ProtectionDomain& domain,
                                                             const XrcDomain& xrc,
                                                             const CompletionQueue& cq,
                                                             uint32_t capacity,
                                                             uint32_t sges_max = 1);
  // One that matches tags, for reliable connections: a message that begins with a tag matching
  // header goes to the tagged receive that it fits, if there is one, and without its header; or, if
  // it is a rendezvous, what it names is read from the peer. All that its queue pairs receive
  // completes in `cq`. See docs/transport.md.
  [[nodiscard]] static ErrorOr<SharedReceiveQueue> CreateTagMatching(const ProtectionDomain& domain,
                                                                     const CompletionQueue& cq,
                                                                     uint32_t capacity,
                                                                     uint32_t sges_max,
                                                                     uint32_t tags_max);
  SharedReceiveQueue() = default;

  // REFUSES while a queue pair uses it. A message to an extended one that is under way fails.
  [[nodiscard]] ErrorOr<void> Destroy();
  // REFUSES below the number of requests in it.
  [[nodiscard]] ErrorOr<void> Resize(uint32_t capacity);
  // One event, kSrqLimitReached, when fewer than `limit` are left; 0 for none.
  [[nodiscard]] ErrorOr<void> SetLimit(uint32_t limit);

  [[nodiscard]] SrqId id() const;
  // What senders name an extended one by; 0 if it is not.
  [[nodiscard]] SrqNumber number() const;
  [[nodiscard]] uint32_t capacity() const;
  [[nodiscard]] uint32_t limit() const;  // 0 when none is set, or no longer

  [[nodiscard]] PostResult Post(const Receive& request) const;
  [[nodiscard]] ChainResult PostChain(std::span<const Receive> requests) const;

  // Adds, removes, or tells. The handle of what was added. May wait for the adapter.
  [[nodiscard]] CodeOr<TagHandle> ChangeTags(const TagOperation& operation) const;

 private:
  explicit SharedReceiveQueue(std::shared_ptr<verbs::SrqObject> object)
      : Handle(std::move(object)) {}
};

}  // namespace verbena
