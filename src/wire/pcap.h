#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "base/time.h"
#include "wire/udp_flow.h"

namespace verbena::wire {

// Writes datagrams as a capture in the pcapng format, which Wireshark opens: one section, one
// Ethernet interface, time stamps in nanoseconds. The Ethernet addresses are made up from the IP
// addresses. One thread at a time.
class PcapngWriter {
 public:
  // Takes the bytes of the file, in order.
  using ByteSink = std::function<void(std::span<const std::byte>)>;

  // Writes the start of the file.
  explicit PcapngWriter(ByteSink sink);

  // Writes a datagram that was seen at `time`. REQUIRES: `time` is not before the origin.
  void WriteUdp(Time time, const UdpFlow& flow, std::span<const std::byte> payload,
                const IpFields& ip = {});

 private:
  ByteSink sink_;
};

}  // namespace verbena::wire
