#include "adapter/loop/default_source_addresses.h"

#include "base/when_memory.h"

namespace verbena::adapter {

void DefaultSourceAddresses::Read() {
  // If the system gives no answer, or memory runs out, no address counts as the only one.
  Learn({});
  static_cast<void>(WhenMemory([this] {
    if (const auto addresses = machine_.All()) Learn(*addresses);
  }));
}

void DefaultSourceAddresses::Learn(std::span<const fabric::LocalAddress> addresses) {
  ipv4_.reset();
  ipv6_.reset();
  bool has_more_ipv4 = false, has_more_ipv6 = false;
  for (const fabric::LocalAddress& address : addresses) {
    if (address.ip.is_loopback() || address.ip.is_link_local()) continue;
    std::optional<IpAddress>& sole = address.ip.is_ipv4() ? ipv4_ : ipv6_;
    if (sole) (address.ip.is_ipv4() ? has_more_ipv4 : has_more_ipv6) = true;
    sole = address.ip;
  }
  if (has_more_ipv4) ipv4_.reset();
  if (has_more_ipv6) ipv6_.reset();
}

}  // namespace verbena::adapter
