#pragma once

#include <cstddef>
#include <unordered_map>

#include "base/check.h"
#include "base/result.h"
#include "transport/cm/cm_error.h"
#include "wire/mad/cm_types.h"

namespace verbena::transport {

// Which services have a listener, and how many requests of each wait for an answer. Owned by
// CmManager; one thread at a time.
class CmListeners {
 public:
  explicit CmListeners(std::size_t listeners_max) : max_(listeners_max) {}

  [[nodiscard]] Result<void, CmError> Add(wire::ServiceId service, std::size_t backlog) {
    if (listeners_.contains(service)) return Fail(CmError::kServiceInUse);
    if (listeners_.size() >= max_) return Fail(CmError::kTooManyListeners);
    listeners_[service] = {.backlog = backlog};
    return {};
  }
  // Requests that wait stay: their ids are the consumer's.
  [[nodiscard]] Result<void, CmError> Remove(wire::ServiceId service) {
    if (listeners_.erase(service) == 0) return Fail(CmError::kNotListening);
    return {};
  }

  [[nodiscard]] bool Has(wire::ServiceId service) const { return listeners_.contains(service); }
  [[nodiscard]] bool IsFull(wire::ServiceId service) const {
    const auto found = listeners_.find(service);
    return found != listeners_.end() && found->second.waiting >= found->second.backlog;
  }
  [[nodiscard]] std::size_t waiting(wire::ServiceId service) const {
    const auto found = listeners_.find(service);
    return found == listeners_.end() ? 0 : found->second.waiting;
  }

  // A request waits for an answer; it waits no more. The listener may be gone, or be a later one
  // that never heard of it.
  void AddWaiting(wire::ServiceId service) {
    const auto found = listeners_.find(service);
    CHECK(found != listeners_.end());
    ++found->second.waiting;
  }
  void RemoveWaiting(wire::ServiceId service) {
    const auto found = listeners_.find(service);
    if (found != listeners_.end() && found->second.waiting > 0) --found->second.waiting;
  }

  [[nodiscard]] std::size_t size() const { return listeners_.size(); }

 private:
  struct Listener {
    std::size_t backlog = 0;
    std::size_t waiting = 0;
  };

  const std::size_t max_;
  std::unordered_map<wire::ServiceId, Listener> listeners_;
};

}  // namespace verbena::transport
