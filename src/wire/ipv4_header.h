#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "verbena/ip_address.h"
#include "wire/ip_protocol.h"

namespace verbena::wire {

// IPv4 header (RFC 791 §3.1) of an unfragmented datagram without options, the only kind that RoCEv2
// uses.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |   4   |   5   |Type of Service|         Total Length          |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |        Identification         |0|D|0|            0            |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   | Time to Live  |   Protocol    |        Header Checksum        |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                        Source Address                         |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                      Destination Address                      |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// A value type.
struct Ipv4Header {
  static constexpr std::size_t kSize = 20;

  uint8_t type_of_service = 0;
  uint16_t total_length = kSize;
  uint16_t identification = 0;
  bool dont_fragment = true;
  uint8_t time_to_live = 64;
  IpProtocol protocol = IpProtocol::kUdp;
  Ipv4Address source{};
  Ipv4Address destination{};

  // Does not verify the checksum, which the IP stack has done.
  [[nodiscard]] static std::optional<Ipv4Header> Parse(std::span<const std::byte> bytes) {
    const auto reader = ByteReader<kSize>::From(bytes);
    if (!reader || reader->Load8<0>() != kVersionAndLength) return std::nullopt;
    const uint16_t fragment = reader->Load16<6>();
    const auto protocol = IpProtocolOf(reader->Load8<9>());
    if ((fragment & ~kDontFragment) != 0 || !protocol) return std::nullopt;
    return Ipv4Header{.type_of_service = reader->Load8<1>(),
                      .total_length = reader->Load16<2>(),
                      .identification = reader->Load16<4>(),
                      .dont_fragment = fragment != 0,
                      .time_to_live = reader->Load8<8>(),
                      .protocol = *protocol,
                      .source = Ipv4Address(reader->Load32<12>()),
                      .destination = Ipv4Address(reader->Load32<16>())};
  }

  // Computes the checksum.
  void Serialize(std::span<std::byte> bytes) const;

  friend bool operator==(const Ipv4Header&, const Ipv4Header&) = default;

 private:
  static constexpr uint8_t kVersionAndLength = 0x45;
  static constexpr uint16_t kDontFragment = 0x4000;
};

[[nodiscard]] std::string ToString(const Ipv4Header& header);

}  // namespace verbena::wire
