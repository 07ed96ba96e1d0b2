#include "fabric/address_watch.h"

#include <linux/rtnetlink.h>

#include <utility>

#include "fabric/interfaces.h"
#include "fabric/netlink_reports.h"

namespace verbena::fabric {

AddressWatch::AddressWatch() : file_(OpenNetlinkReports(RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR)) {
  if (file_.is_open()) known_ = Present();
}

AddressWatch::Addresses AddressWatch::Present() {
  Addresses present;
  const auto found = LocalAddresses();
  if (!found) return present;
  for (const LocalAddress& address : *found) {
    present.emplace_back(address.ip, address.interface_index);
  }
  return present;
}

bool AddressWatch::HasChanged() {
  if (!TakeNetlinkReports(file_.get())) return false;
  Addresses present = Present();
  if (present == known_) return false;
  known_ = std::move(present);
  return true;
}

}  // namespace verbena::fabric
