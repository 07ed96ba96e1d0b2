#pragma once

#include "verbena/ip_address.h"
#include "wire/mad/mad_header.h"
#include "wire/roce/types.h"

namespace verbena::transport {

// Another connection manager, and the address of this machine by which both know each other. The
// processes of a machine have a manager each: `gsi` tells them apart, the queue pair number that
// their datagrams name as the sender. A manager of a whole machine has wire::kGeneralServicesQp. A
// value type.
struct CmPeer {
  IpAddress address{};
  IpAddress local{};
  QpNumber gsi = wire::kGeneralServicesQp;

  CmPeer() = default;
  // Where only the peer's address matters.
  CmPeer(const IpAddress& peer) : address(peer) {}  // NOLINT(google-explicit-constructor)
  CmPeer(const IpAddress& peer, const IpAddress& own, QpNumber number)
      : address(peer), local(own), gsi(number) {}

  // Whether an answer to a request to this one may come from `other`: a request to an address goes
  // to wire::kGeneralServicesQp, and the process that it is for answers by its own number.
  [[nodiscard]] bool IsAnsweredBy(const CmPeer& other) const {
    return address == other.address && local == other.local &&
           (gsi == wire::kGeneralServicesQp || gsi == other.gsi);
  }

  friend bool operator==(const CmPeer&, const CmPeer&) = default;
};

}  // namespace verbena::transport
