#include "wire/mad/ip_cm.h"

#include <algorithm>
#include <cstring>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "wire/mad/bits.h"

namespace verbena::wire {
namespace {

constexpr uint64_t kPrefix = 0x0000000001;

constexpr std::size_t kSourceAt = 4, kDestinationAt = 20;
constexpr std::size_t kIpv4At = 12;  // offset in the 16 bytes of an address

IpAddress Load(std::span<const std::byte> bytes, bool is_ipv4) {
  IpAddress address = is_ipv4 ? IpAddress::FromIpv4(Ipv4Address(0)) : IpAddress{};
  const std::size_t from = is_ipv4 ? kIpv4At : 0;
  std::memcpy(&address.bytes[from], &bytes[from], address.bytes.size() - from);
  return address;
}

void Store(const IpAddress& address, std::span<std::byte> bytes, bool is_ipv4) {
  const std::size_t from = is_ipv4 ? kIpv4At : 0;
  std::memcpy(&bytes[from], &address.bytes[from], address.bytes.size() - from);
}

}  // namespace

ServiceId ServiceIdOf(const IpCmService& service) {
  return ServiceId(kPrefix << 24 | uint64_t{static_cast<uint8_t>(service.protocol)} << 16 |
                   service.port);
}

std::optional<IpCmService> IpCmServiceOf(ServiceId id) {
  if (id.value() >> 24 != kPrefix) return std::nullopt;
  return IpCmService{.protocol = static_cast<IpCmProtocol>(id.value() >> 16 & 0xFF),
                     .port = static_cast<uint16_t>(id.value())};
}

std::optional<IpCmHeader> IpCmHeader::Parse(std::span<const std::byte> bytes) {
  const auto reader = ByteReader<kSize>::From(bytes);
  if (!reader || BitsOf<0, 4>(reader->Load8<0>()) != kMajorVersion) return std::nullopt;
  const uint8_t ip_version = BitsOf<0, 4>(reader->Load8<1>());
  if (ip_version != 4 && ip_version != 6) return std::nullopt;
  const bool is_ipv4 = ip_version == 4;
  const IpCmHeader header{.minor_version = BitsOf<4, 4>(reader->Load8<0>()),
                          .source_port = reader->Load16<2>(),
                          .source = Load(bytes.subspan(kSourceAt), is_ipv4),
                          .destination = Load(bytes.subspan(kDestinationAt), is_ipv4)};
  const bool has_ipv4 = header.source.ipv4() || header.destination.ipv4();
  if (has_ipv4 != is_ipv4) return std::nullopt;
  return header;
}

void IpCmHeader::Serialize(std::span<std::byte> bytes) const {
  ByteWriter<kSize> writer(bytes);
  std::ranges::fill(bytes.first(kSize), std::byte{0});
  const bool is_ipv4 = destination.ipv4().has_value();
  CHECK(source.ipv4().has_value() == is_ipv4);
  writer.Store8<0>(PackBits({{kMajorVersion, 4}, {minor_version, 4}}));
  writer.Store8<1>(PackBits({{static_cast<uint8_t>(is_ipv4 ? 4 : 6), 4}}));
  writer.Store16<2>(source_port);
  Store(source, bytes.subspan(kSourceAt), is_ipv4);
  Store(destination, bytes.subspan(kDestinationAt), is_ipv4);
}

std::string ToString(const IpCmHeader& header) {
  return "IP CM from " + ToString(header.source) + " port " + std::to_string(header.source_port) +
         " to " + ToString(header.destination);
}

}  // namespace verbena::wire
