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

// The invariant CRC at the end of every RoCEv2 packet (IBA 7.8.1 and A17.3.3): Ethernet's CRC-32,
// least significant byte first on the wire. It covers, in this order,
//
//   8 bytes of ones              in place of InfiniBand's local route header, which RoCE lacks
//   the IP header                IPv4: with type of service, time to live and checksum as ones
//                                IPv6: with traffic class, flow label and hop limit as ones
//   the UDP header               with the checksum as ones
//   the base transport header    with its byte of FECN, BECN and reserved bits as ones
//   the other headers, the payload, the pad
using Icrc = StrongId<struct IcrcTag, uint32_t>;

inline constexpr std::size_t kIcrcSize = 4;

// `bytes` has at least kIcrcSize bytes.
[[nodiscard]] Icrc LoadIcrc(std::span<const std::byte> bytes);
void StoreIcrc(Icrc icrc, std::span<std::byte> bytes);

// The bytes that the ICRC covers before the BTH. They are equal for all packets of a flow that have
// the same size, so that a flow keeps one and only changes the size. A value type; its owner guards
// it.
class PseudoHeader {
 public:
  // The IP and UDP headers in wire format: IPv4 without options, or IPv6 without extension headers.
  explicit PseudoHeader(std::span<const std::byte> ip_and_udp);

  // Sets the size of the packet, from the BTH to the ICRC, both included.
  void set_packet_size(std::size_t packet_size);

  // Has no effect in IPv6, which has no identification.
  void set_identification(uint16_t identification);

 private:
  friend class IcrcSum;

  static constexpr std::size_t kRouteHeaderSize = 8;
  static constexpr std::size_t kMaxSize = kRouteHeaderSize + IpUdpHeaders::kMaxSize;

  std::array<std::byte, kMaxSize> bytes_{};  // the first size_ of them
  std::size_t size_;
};

// Computes the ICRC incrementally, so that the payload is summed while a copy has it in the cache.
// A value type.
class IcrcSum {
 public:
  // `bth` is the base transport header.
  IcrcSum(const PseudoHeader& pseudo_header, std::span<const std::byte, Bth::kSize> bth);

  // The bytes after the BTH, in order: the other headers, the payload, the pad.
  void Update(std::span<const std::byte> bytes);

  [[nodiscard]] Icrc Finish() const { return Icrc(crc_); }

 private:
  uint32_t crc_ = 0;
};

// The ICRC of a whole packet, from its BTH to its pad, after headers as for PseudoHeader.
[[nodiscard]] Icrc IcrcOf(std::span<const std::byte> ip_and_udp, std::span<const std::byte> packet);

// The ICRC also covers the IPv4 identification, which a UDP socket does not return. But a CRC is
// affine: flipping bits of the message flips bits of the CRC that depend only on these bits and
// their distance from the end. So the receiver computes the ICRC with identification 0, and checks
// whether some identification explains the difference from the received ICRC. One of 65,536 random
// differences is explained, so the check is weaker than with a known identification.

// The difference (exclusive or) to the ICRC with identification 0, for a packet of `packet_size`
// bytes from the BTH to the ICRC, both included.
[[nodiscard]] Icrc IdentificationDelta(uint16_t identification, std::size_t packet_size);

// The identification that the sender has used; nullopt if none explains `arrived`.
[[nodiscard]] std::optional<uint16_t> ExplainIdentification(Icrc arrived, Icrc with_zero,
                                                            std::size_t packet_size);

}  // namespace verbena::wire
