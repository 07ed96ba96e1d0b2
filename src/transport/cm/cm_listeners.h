#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <optional>

#include "base/check.h"
#include "base/result.h"
#include "transport/cm/cm_error.h"
#include "verbena/ip_address.h"
#include "wire/mad/cm_types.h"

namespace verbena::transport {

// Where a listener listens: a service, on one address of this machine or on all. 0.0.0.0 covers
// IPv4; :: covers all, or with `own_family_only` only IPv6. A value type.
struct CmListenAddress {
  wire::ServiceId service{};
  IpAddress address{};
  bool own_family_only = false;

  CmListenAddress() = default;
  CmListenAddress(wire::ServiceId id) : service(id) {}  // NOLINT(google-explicit-constructor)
  CmListenAddress(wire::ServiceId id, const IpAddress& at, bool own_family)
      : service(id), address(at), own_family_only(own_family) {}

  friend bool operator==(const CmListenAddress&, const CmListenAddress&) = default;
  friend auto operator<=>(const CmListenAddress&, const CmListenAddress&) = default;
};

// The services that have a listener, and the number of requests of each that wait for the consumer.
// Owned by CmManager; one thread at a time.
class CmListeners {
 public:
  explicit CmListeners(std::size_t listeners_max) : max_(listeners_max) {}

  [[nodiscard]] Result<void, CmError> Add(const CmListenAddress& at, std::size_t backlog) {
    if (listeners_.contains(at)) return Fail(CmError::kServiceInUse);
    if (listeners_.size() >= max_) return Fail(CmError::kTooManyListeners);
    listeners_[at] = {.backlog = backlog};
    return {};
  }
  // Waiting requests stay: the consumer has their ids.
  [[nodiscard]] Result<void, CmError> Remove(const CmListenAddress& at) {
    if (listeners_.erase(at) == 0) return Fail(CmError::kNotListening);
    return {};
  }

  // The most specific listener for a request to this address.
  [[nodiscard]] std::optional<CmListenAddress> Find(wire::ServiceId service,
                                                    const IpAddress& local) const {
    constexpr IpAddress kAnyIpv4 = IpAddress::FromIpv4(0, 0, 0, 0);
    const bool is_ipv4 = local.is_ipv4();
    for (const CmListenAddress& at :
         {CmListenAddress(service, local, false), CmListenAddress(service, local, true),
          CmListenAddress(service, is_ipv4 ? kAnyIpv4 : IpAddress{}, true),
          CmListenAddress(service, is_ipv4 ? kAnyIpv4 : IpAddress{}, false),
          CmListenAddress(service, IpAddress{}, false)}) {
      if (listeners_.contains(at)) return at;
    }
    return std::nullopt;
  }
  [[nodiscard]] bool Has(wire::ServiceId service, const IpAddress& local = {}) const {
    return Find(service, local).has_value();
  }
  [[nodiscard]] bool IsFull(wire::ServiceId service, const IpAddress& local = {}) const {
    const Listener* const found = FindCounts(service, local);
    return found != nullptr && found->waiting >= found->backlog;
  }
  [[nodiscard]] std::size_t waiting(wire::ServiceId service, const IpAddress& local = {}) const {
    const Listener* const found = FindCounts(service, local);
    return found == nullptr ? 0 : found->waiting;
  }

  // A request begins or ends to wait for the consumer. Its listener may have been removed, or
  // replaced by a later one that does not count it.
  void AddWaiting(wire::ServiceId service, const IpAddress& local = {}) {
    Listener* const found = FindCounts(service, local);
    CHECK(found != nullptr);
    ++found->waiting;
  }
  void RemoveWaiting(wire::ServiceId service, const IpAddress& local = {}) {
    Listener* const found = FindCounts(service, local);
    if (found != nullptr && found->waiting > 0) --found->waiting;
  }

  [[nodiscard]] std::size_t size() const { return listeners_.size(); }

 private:
  struct Listener {
    std::size_t backlog = 0;
    std::size_t waiting = 0;
  };

  [[nodiscard]] const Listener* FindCounts(wire::ServiceId service, const IpAddress& local) const {
    const auto at = Find(service, local);
    return at ? &listeners_.find(*at)->second : nullptr;
  }
  [[nodiscard]] Listener* FindCounts(wire::ServiceId service, const IpAddress& local) {
    const auto at = Find(service, local);
    return at ? &listeners_.find(*at)->second : nullptr;
  }

  const std::size_t max_;
  std::map<CmListenAddress, Listener> listeners_;
};

}  // namespace verbena::transport
