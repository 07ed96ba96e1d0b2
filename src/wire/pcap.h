#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "base/time.h"
#include "wire/ip_header.h"
#include "wire/tcp_header.h"
#include "wire/udp_flow.h"

namespace verbena::wire {

// Writes datagrams and TCP segments as a pcapng file for Wireshark: one section, one Ethernet
// interface, timestamps in nanoseconds. Ethernet addresses are derived from the IP addresses. One
// thread at a time.
class PcapngWriter {
 public:
  // Receives the bytes of the file, in order.
  using ByteSink = std::function<void(std::span<const std::byte>)>;

  // Writes the start of the file.
  explicit PcapngWriter(ByteSink sink);

  // Writes a datagram that was seen at `time`. REQUIRES: `time` is not before the origin.
  void WriteUdp(Time time, const UdpFlow& flow, std::span<const std::byte> payload,
                const IpFields& ip = {});
  // The same for a segment of a TCP connection between two addresses of one family.
  void WriteTcp(Time time, const IpAddress& source, const IpAddress& destination,
                const TcpHeader& tcp, std::span<const std::byte> payload);

 private:
  // The addresses, and the bytes from the IP header on, in two parts.
  void WriteFrame(Time time, const IpAddress& source, const IpAddress& destination,
                  std::span<const std::byte> headers, std::span<const std::byte> payload);

  ByteSink sink_;
};

}  // namespace verbena::wire
