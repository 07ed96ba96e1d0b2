#pragma once

#include <optional>
#include <span>

#include "base/time.h"
#include "fabric/address.h"
#include "fabric/interfaces.h"
#include "fabric/machine_addresses.h"

namespace verbena::adapter {

// The only address of this machine that other machines can reach, if it has exactly one per family.
// Whatever the routing tables say, a datagram to another machine then leaves from this address, so
// the source need not be passed to the kernel, which would cost 0.3 us (docs/fabric.md). Addresses
// can change at any time: the knowledge expires after kGoodFor. A datagram that leaves with a wrong
// source in the meantime is lost, like other packets when addresses change.
//
// Owned by the engine; under its lock.
class DefaultSourceAddresses {
 public:
  static constexpr Duration kGoodFor = Milliseconds(250);

  explicit DefaultSourceAddresses(const fabric::MachineAddresses& machine) : machine_(machine) {}

  // Reads the addresses from the system (about 30 us), if kGoodFor has passed.
  void Refresh(Time now) {
    if (now < good_until_) return;
    good_until_ = now + kGoodFor;
    Read();
  }
  void Learn(std::span<const fabric::LocalAddress> addresses);

  // Whether the system would choose `from` as the source address by itself.
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
