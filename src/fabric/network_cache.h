#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "fabric/file_descriptor.h"
#include "fabric/interfaces.h"

namespace verbena::fabric {

// Caches what the system says about addresses and routes until the kernel reports a change of an
// interface, an address or a route. A connection makes a dozen queries; a cached one costs two or
// three short system calls instead of five to forty. A process that has changed its network
// namespace, or was forked, starts with an empty cache.
//
// One thread at a time.
class NetworkCache {
 public:
  // Like the functions in interfaces.h.
  [[nodiscard]] ErrorOr<std::vector<LocalAddress>> Addresses(Time now);
  [[nodiscard]] std::optional<IpAddress> SourceFor(const IpAddress& to, Time now);
  // The kernel does not report path MTUs learned from routers: an entry is valid for kMtuGoodFor.
  [[nodiscard]] ErrorOr<uint32_t> Mtu(const Route& route, Time now);

  static constexpr Duration kMtuGoodFor = Milliseconds(250);

 private:
  // The network that the cache belongs to. Netlink reports changes of one network namespace.
  struct Origin {
    pid_t process = 0;
    dev_t device = 0;
    ino_t network = 0;  // 0: unknown, and nothing is cached

    friend bool operator==(const Origin&, const Origin&) = default;
  };
  struct KnownMtu {
    Route route;
    Time good_until;
    uint32_t bytes = 0;
  };

  static Origin Here();
  // Whether the thread made a query so recently that it cannot have entered and set up another
  // network namespace, and the process was not forked since.
  [[nodiscard]] bool IsSurelyHere(Time now);
  // Drops entries that may have changed. Called before each query, so that no change is missed
  // after it.
  void Refresh(Time now);
  void Forget();
  // Adds the newest of a few entries.
  template <class Known>
  void Keep(std::deque<Known>& all, Known known) const;

  Origin origin_;
  pthread_t asker_ = {};
  Time asked_at_;
  FileDescriptor reports_;
  std::optional<std::vector<LocalAddress>> addresses_;
  std::deque<std::pair<IpAddress, IpAddress>> sources_;  // by destination
  std::deque<KnownMtu> mtus_;
};

}  // namespace verbena::fabric
