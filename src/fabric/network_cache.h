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

// What the system has said about addresses and routes, for as long as the kernel reports no change
// of an interface, an address or a route: a connection asks a dozen times, and a question that has
// been answered costs two or three short system calls instead of five to forty. A process that has
// changed its network namespace, or was forked, asks anew.
//
// One thread at a time.
class NetworkCache {
 public:
  // As the functions in interfaces.h.
  [[nodiscard]] ErrorOr<std::vector<LocalAddress>> Addresses(Time now);
  [[nodiscard]] std::optional<IpAddress> SourceFor(const IpAddress& to, Time now);
  // What routers say of a way the kernel does not report: an answer is good for kMtuGoodFor.
  [[nodiscard]] ErrorOr<uint32_t> Mtu(const Route& route, Time now);

  static constexpr Duration kMtuGoodFor = Milliseconds(250);

 private:
  // Whose network it is. Netlink reports changes of one network namespace.
  struct Origin {
    pid_t process = 0;
    dev_t device = 0;
    ino_t network = 0;  // 0: not known, and nothing is kept

    friend bool operator==(const Origin&, const Origin&) = default;
  };
  struct KnownMtu {
    Route route;
    Time good_until;
    uint32_t bytes = 0;
  };

  static Origin Here();
  // Whether the thread has asked before, so short a time ago that it cannot have entered another
  // network namespace and set that up; nor was the process forked.
  [[nodiscard]] bool IsSurelyHere(Time now);
  // Forgets what may have changed. Before each answer, so that none is missed that is asked of the
  // system afterwards.
  void Refresh(Time now);
  void Forget();
  // Keeps an answer as the newest of a few.
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
