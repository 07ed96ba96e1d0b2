#pragma once

#include "verbena/ip_address.h"
#include "wire/mad/mad_header.h"
#include "wire/roce/types.h"

namespace verbena::transport {

// Another connection manager, and the local address that both sides use. Each process of a machine
// has its own manager; `gsi`, the source queue pair number of their datagrams, distinguishes them.
// The manager of a whole machine has wire::kGeneralServicesQp. A value type.
struct CmPeer {
  IpAddress address{};
  IpAddress local{};
  QpNumber gsi = wire::kGeneralServicesQp;

  CmPeer() = default;
  // Where only the peer's address matters.
  CmPeer(const IpAddress& peer) : address(peer) {}  // NOLINT(google-explicit-constructor)
  CmPeer(const IpAddress& peer, const IpAddress& own, QpNumber number)
      : address(peer), local(own), gsi(number) {}

  // Whether a response to a request to this peer may come from `other`: a request to an address
  // goes to wire::kGeneralServicesQp, and the process that has the service responds with its own
  // number.
  [[nodiscard]] bool IsAnsweredBy(const CmPeer& other) const {
    return address == other.address && local == other.local &&
           (gsi == wire::kGeneralServicesQp || gsi == other.gsi);
  }

  friend bool operator==(const CmPeer&, const CmPeer&) = default;
};

}  // namespace verbena::transport
