#include "wire/ipv4_header.h"

#include "wire/text.h"

namespace verbena::wire {
namespace {

// RFC 1071: the sum of the 16-bit words in one's complement, inverted.
uint16_t Checksum(std::span<const std::byte> header) {
  uint32_t sum = 0;
  for (std::size_t i = 0; i < Ipv4Header::kSize; i += 2) {
    sum += std::to_integer<uint32_t>(header[i]) << 8 | std::to_integer<uint32_t>(header[i + 1]);
  }
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

}  // namespace

void Ipv4Header::Serialize(std::span<std::byte> bytes) const {
  ByteWriter<kSize> writer(bytes);
  writer.Store8<0>(kVersionAndLength);
  writer.Store8<1>(type_of_service);
  writer.Store16<2>(total_length);
  writer.Store16<4>(identification);
  writer.Store16<6>(dont_fragment ? kDontFragment : 0);
  writer.Store8<8>(time_to_live);
  writer.Store8<9>(static_cast<uint8_t>(protocol));
  writer.Store16<10>(0);
  writer.Store32<12>(source.value());
  writer.Store32<16>(destination.value());
  writer.Store16<10>(Checksum(bytes));
}

std::string ToString(const Ipv4Header& header) {
  return "IPv4 " + ToString(IpAddress::FromIpv4(header.source)) + " -> " +
         ToString(IpAddress::FromIpv4(header.destination)) + ", length " +
         std::to_string(header.total_length) + ", identification " + Hex(header.identification, 4) +
         (header.dont_fragment ? ", DF" : "") + ", TTL " + std::to_string(header.time_to_live) +
         ", TOS " + Hex(header.type_of_service, 2);
}

}  // namespace verbena::wire
