#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "verbena/error.h"
#include "verbena/handle.h"
#include "verbena/numbers.h"
#include "verbena/protection_domain.h"
#include "verbena/work_request.h"

namespace verbena {

namespace verbs {
struct SrqObject;
}

// How far a chain got.
struct ChainResult {
  size_t posted = 0;  // requests that stand; the next one was refused
  CodeOr<void> result = {};
};

// Receive requests that several queue pairs take from.
class SharedReceiveQueue : public Handle<verbs::SrqObject> {
 public:
  [[nodiscard]] static ErrorOr<SharedReceiveQueue> Create(const ProtectionDomain& domain,
                                                          uint32_t capacity, uint32_t sges_max = 1);
  SharedReceiveQueue() = default;

  // REFUSES while a queue pair uses it.
  [[nodiscard]] ErrorOr<void> Destroy();
  // REFUSES below the number of requests in it.
  [[nodiscard]] ErrorOr<void> Resize(uint32_t capacity);
  // One event, kSrqLimitReached, when fewer than `limit` are left; 0 for none.
  [[nodiscard]] ErrorOr<void> SetLimit(uint32_t limit);

  [[nodiscard]] SrqId id() const;
  [[nodiscard]] uint32_t capacity() const;
  [[nodiscard]] uint32_t limit() const;  // 0 when none is set, or no longer

  [[nodiscard]] CodeOr<void> Post(const Receive& request) const;
  [[nodiscard]] ChainResult PostChain(std::span<const Receive> requests) const;

 private:
  explicit SharedReceiveQueue(std::shared_ptr<verbs::SrqObject> object)
      : Handle(std::move(object)) {}
};

}  // namespace verbena
