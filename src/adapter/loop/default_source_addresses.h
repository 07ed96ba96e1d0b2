#pragma once

#include <optional>
#include <span>

#include "base/time.h"
#include "fabric/address.h"
#include "fabric/interfaces.h"
#include "fabric/machine_addresses.h"

namespace verbena::adapter {

// The address of this machine that other machines know it by, if it has just one of a kind.
// Whatever the routing tables say, a datagram to another machine leaves with it, so that its source
// need not be named, which costs 0.3 us (docs/fabric.md). An address may come or go at any time:
// what is known is good for kGoodFor, and a datagram that left with another source meanwhile is
// lost, as others are when addresses change.
//
// Owned by the engine; under its lock.
class DefaultSourceAddresses {
 public:
  static constexpr Duration kGoodFor = Milliseconds(250);

  explicit DefaultSourceAddresses(const fabric::MachineAddresses& machine) : machine_(machine) {}

  // Asks the system, if that is due: about 30 us.
  void Refresh(Time now) {
    if (now < good_until_) return;
    good_until_ = now + kGoodFor;
    Read();
  }
  void Learn(std::span<const fabric::LocalAddress> addresses);

  // Whether `from` is what the system would choose.
  [[nodiscard]] bool IsUsual(const IpAddress& from, const IpAddress& to) const {
    return !to.is_link_local() && (from.is_ipv4() ? ipv4_ : ipv6_) == from;
  }

 private:
  void Read();

  const fabric::MachineAddresses& machine_;
  Time good_until_;
  std::optional<IpAddress> ipv4_;
  std::optional<IpAddress> ipv6_;
};

}  // namespace verbena::adapter
