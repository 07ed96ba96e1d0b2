#include "wire/ipv6_header.h"

#include <cstring>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/check.h"
#include "wire/text.h"

namespace verbena::wire {
namespace {

constexpr uint32_t kVersion = 6;
constexpr uint32_t kFlowLabelMask = 0xFFFFF;
constexpr std::size_t kIpv6SourceAt = 8;
constexpr std::size_t kIpv6DestinationAt = 24;

IpAddress LoadAddress(std::span<const std::byte> bytes, std::size_t at) {
  IpAddress address;
  std::memcpy(address.bytes.data(), &bytes[at], address.bytes.size());
  return address;
}

void StoreAddress(std::span<std::byte> bytes, std::size_t at, const IpAddress& address) {
  std::memcpy(&bytes[at], address.bytes.data(), address.bytes.size());
}

}  // namespace

std::optional<Ipv6Header> Ipv6Header::Parse(std::span<const std::byte> bytes) {
  const auto reader = ByteReader<kSize>::From(bytes);
  if (!reader) return std::nullopt;
  const uint32_t first = reader->Load32<0>();
  const auto protocol = IpProtocolOf(reader->Load8<6>());
  if (first >> 28 != kVersion || !protocol) return std::nullopt;
  return Ipv6Header{.traffic_class = static_cast<uint8_t>(first >> 20),
                    .flow_label = first & kFlowLabelMask,
                    .payload_length = reader->Load16<4>(),
                    .protocol = *protocol,
                    .hop_limit = reader->Load8<7>(),
                    .source = LoadAddress(bytes, kIpv6SourceAt),
                    .destination = LoadAddress(bytes, kIpv6DestinationAt)};
}

void Ipv6Header::Serialize(std::span<std::byte> bytes) const {
  CHECK(flow_label <= kFlowLabelMask);
  ByteWriter<kSize> writer(bytes);
  writer.Store32<0>(kVersion << 28 | uint32_t{traffic_class} << 20 | flow_label);
  writer.Store16<4>(payload_length);
  writer.Store8<6>(static_cast<uint8_t>(protocol));
  writer.Store8<7>(hop_limit);
  StoreAddress(bytes, kIpv6SourceAt, source);
  StoreAddress(bytes, kIpv6DestinationAt, destination);
}

std::string ToString(const Ipv6Header& header) {
  return "IPv6 " + ToString(header.source) + " -> " + ToString(header.destination) +
         ", payload length " + std::to_string(header.payload_length) + ", hop limit " +
         std::to_string(header.hop_limit) + ", traffic class " + Hex(header.traffic_class, 2) +
         ", flow label " + Hex(header.flow_label, 5);
}

}  // namespace verbena::wire
