#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "verbena/strong_id.h"
#include "wire/roce/bth.h"
#include "wire/udp_flow.h"

namespace verbena::wire {

// The invariant CRC that ends every RoCEv2 packet (IBA 7.8.1 and A17.3.3): Ethernet's CRC-32, least
// significant byte first on the wire. It covers, in this order,
//
//   8 bytes of ones              in place of InfiniBand's local route header, which RoCE lacks
//   the IP header                IPv4: but type of service, time to live and checksum as ones
//                                IPv6: but traffic class, flow label and hop limit as ones
//   the UDP header               but the checksum as ones
//   the base transport header    but its byte of FECN, BECN and reserved bits as ones
//   the other headers, the payload, the pad
using Icrc = StrongId<struct IcrcTag, uint32_t>;

inline constexpr std::size_t kIcrcSize = 4;

// `bytes` has at least kIcrcSize bytes.
[[nodiscard]] Icrc LoadIcrc(std::span<const std::byte> bytes);
void StoreIcrc(Icrc icrc, std::span<std::byte> bytes);

// What the ICRC covers in front of the base transport header. It is the same for all packets of a
// flow that have the same size, so that one is kept with a flow and only given the size. A value
// type; its owner guards it.
class PseudoHeader {
 public:
  // The IP and UDP headers as they are on the wire: of IPv4 without options, or of IPv6 without
  // extension headers.
  explicit PseudoHeader(std::span<const std::byte> ip_and_udp);

  // From now on it stands in front of packets of `packet_size` bytes, from the base transport
  // header to the ICRC, both included.
  void set_packet_size(std::size_t packet_size);

  // Of IPv4; in IPv6 there is none, and nothing changes.
  void set_identification(uint16_t identification);

 private:
  friend class IcrcSum;

  static constexpr std::size_t kRouteHeaderSize = 8;
  static constexpr std::size_t kMaxSize = kRouteHeaderSize + IpUdpHeaders::kMaxSize;

  std::array<std::byte, kMaxSize> bytes_{};  // the first size_ of them
  std::size_t size_;
};

// Computes the ICRC piece by piece, so that the payload can be summed while it is in the cache
// because it is being copied. A value type; a copy goes on from the same point.
class IcrcSum {
 public:
  // `bth` is the base transport header.
  IcrcSum(const PseudoHeader& pseudo_header, std::span<const std::byte, Bth::kSize> bth);

  // What follows, in order: the other headers, the payload, the pad.
  void Update(std::span<const std::byte> bytes);

  [[nodiscard]] Icrc Finish() const { return Icrc(crc_); }

 private:
  uint32_t crc_ = 0;
};

// Of a whole packet, from its base transport header to its pad, behind headers as for PseudoHeader.
[[nodiscard]] Icrc IcrcOf(std::span<const std::byte> ip_and_udp, std::span<const std::byte> packet);

// The ICRC also covers the identification of IPv4, which a receiver on a UDP socket does not see.
// But a CRC is affine: to flip bits of the message flips bits of the CRC that depend only on which
// bits and on how far they are from the end. So one computes the ICRC with identification 0, and
// asks whether some identification explains the difference to the one that arrived. Of 65,536
// random differences one is explained; that is what is lost against seeing the header.

// What to add (exclusive or) to an ICRC that was computed with identification 0, for a packet of
// `packet_size` bytes from the base transport header to the ICRC, both included.
[[nodiscard]] Icrc IdentificationDelta(uint16_t identification, std::size_t packet_size);

// The identification that the sender must have used; nullopt if none explains `arrived`.
[[nodiscard]] std::optional<uint16_t> ExplainIdentification(Icrc arrived, Icrc with_zero,
                                                            std::size_t packet_size);

}  // namespace verbena::wire
