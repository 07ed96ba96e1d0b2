#include "rdmacm/rsocket/wire.h"

#include <algorithm>
#include <concepts>
#include <cstring>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/check.h"

namespace verbena::rsockets {
namespace {

constexpr uint8_t kFlagBigEndian = 1;
constexpr uint8_t kFlagIomap = 2;
constexpr uint8_t kScaleLinearMax = 128;  // above, the low 7 bits count units of 256

template <std::unsigned_integral T>
T Swapped(T value) {
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
}

template <std::unsigned_integral T>
T Load(std::span<const std::byte> bytes, std::size_t offset, std::endian order) {
  CHECK(offset + sizeof(T) <= bytes.size());
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return order == std::endian::native ? value : Swapped(value);
}

template <std::unsigned_integral T>
void Store(std::span<std::byte> bytes, std::size_t offset, std::endian order, T value) {
  CHECK(offset + sizeof(T) <= bytes.size());
  const T stored = order == std::endian::native ? value : Swapped(value);
  std::memcpy(bytes.data() + offset, &stored, sizeof stored);
}

// Stores the address in its 4 or 16 bytes.
void StoreAddress(const IpAddress& address, std::span<std::byte> bytes) {
  const auto from = std::as_bytes(std::span(address.bytes)).last(bytes.size());
  std::ranges::copy(from, bytes.begin());
}

IpAddress LoadAddress(std::span<const std::byte> bytes) {
  IpAddress address = bytes.size() == 4 ? IpAddress::FromIpv4(Ipv4Address{}) : IpAddress{};
  std::memcpy(address.bytes.data() + address.bytes.size() - bytes.size(), bytes.data(),
              bytes.size());
  return address;
}

}  // namespace

RemoteBuffer RemoteBuffer::Parse(std::span<const std::byte> bytes, std::endian order) {
  return {.address = Load<uint64_t>(bytes, 0, order),
          .rkey = Load<uint32_t>(bytes, 8, order),
          .length = Load<uint32_t>(bytes, 12, order)};
}

void RemoteBuffer::Serialize(std::span<std::byte> bytes, std::endian order) const {
  Store(bytes, 0, order, address);
  Store(bytes, 8, order, rkey);
  Store(bytes, 12, order, length);
}

IomapEntry IomapEntry::Parse(std::span<const std::byte> bytes, std::endian order) {
  return {.offset = Load<uint64_t>(bytes, 0, order),
          .buffer = RemoteBuffer::Parse(bytes.subspan(8), order)};
}

void IomapEntry::Serialize(std::span<std::byte> bytes, std::endian order) const {
  Store(bytes, 0, order, offset);
  buffer.Serialize(bytes.subspan(8), order);
}

std::optional<ConnectionHeader> ConnectionHeader::Parse(std::span<const std::byte> bytes) {
  const auto reader = ByteReader<kSize>::From(bytes);
  if (!reader || reader->Load8<0>() != kVersion) return std::nullopt;
  const uint8_t flags = reader->Load8<1>();
  const ConnectionHeader header{
      .order = (flags & kFlagBigEndian) != 0 ? std::endian::big : std::endian::little,
      .knows_iomaps = (flags & kFlagIomap) != 0,
      .credits = reader->Load16<2>(),
      .iomap_size = (flags & kFlagIomap) != 0 ? UnscaleIomapSize(reader->Load8<7>()) : uint16_t{0},
      .target_list = RemoteBuffer::Parse(bytes.subspan(8), std::endian::big),
      .data_buffer = RemoteBuffer::Parse(bytes.subspan(24), std::endian::big)};
  if (header.target_list.length == 0) return std::nullopt;
  return header;
}

void ConnectionHeader::Serialize(std::span<std::byte> bytes) const {
  ByteWriter<kSize> writer(bytes);
  writer.Store8<0>(kVersion);
  writer.Store8<1>(static_cast<uint8_t>((order == std::endian::big ? kFlagBigEndian : 0) |
                                        (knows_iomaps ? kFlagIomap : 0)));
  writer.Store16<2>(credits);
  writer.Store24<4>(0);
  writer.Store8<7>(ScaleIomapSize(iomap_size));
  target_list.Serialize(bytes.subspan(8), std::endian::big);
  data_buffer.Serialize(bytes.subspan(24), std::endian::big);
}

uint8_t ScaleIomapSize(uint16_t entries) {
  if (entries <= kScaleLinearMax) return static_cast<uint8_t>(entries);
  return static_cast<uint8_t>(kScaleLinearMax | std::min(entries >> 8, 0x7F));
}

uint16_t UnscaleIomapSize(uint8_t scaled) {
  if (scaled <= kScaleLinearMax) return scaled;
  return static_cast<uint16_t>((scaled & ~kScaleLinearMax) << 8);
}

std::size_t DatagramHeader::size() const {
  return source.address.is_ipv4() ? kIpv4Size : kIpv6Size;
}

std::optional<DatagramHeader> DatagramHeader::Parse(std::span<const std::byte> bytes) {
  const auto reader = ByteReader<kIpv4Size>::From(bytes);
  if (!reader || bytes.size() < reader->Load8<1>()) return std::nullopt;
  const uint8_t version = reader->Load8<0>(), length = reader->Load8<1>();
  DatagramHeader header{.source = {.port = reader->Load16<2>()}};
  if (version == 4 && length == kIpv4Size) {
    header.source.address = LoadAddress(bytes.subspan(4, 4));
  } else if (version == 6 && length == kIpv6Size) {
    header.source.address = LoadAddress(bytes.subspan(8, 16));
  } else {
    return std::nullopt;
  }
  return header;
}

void DatagramHeader::Serialize(std::span<std::byte> bytes) const {
  ByteWriter<kIpv4Size> writer(bytes);
  const bool is_ipv4 = source.address.is_ipv4();
  writer.Store8<0>(is_ipv4 ? 4 : 6);
  writer.Store8<1>(static_cast<uint8_t>(size()));
  writer.Store16<2>(source.port);
  if (!is_ipv4) writer.Store32<4>(0);  // no flow information
  StoreAddress(source.address, is_ipv4 ? bytes.subspan(4, 4) : bytes.subspan(8, 16));
}

std::size_t DatagramUdpHeader::size() const { return address.is_ipv4() ? kIpv4Size : kIpv6Size; }

std::optional<DatagramUdpHeader> DatagramUdpHeader::Parse(std::span<const std::byte> bytes) {
  const auto reader = ByteReader<kIpv4Size>::From(bytes);
  if (!reader || reader->Load32<0>() != kTag || bytes.size() < reader->Load8<6>()) {
    return std::nullopt;
  }
  const uint8_t version = reader->Load8<4>(), length = reader->Load8<6>();
  DatagramUdpHeader header{.op = static_cast<MessageOp>(reader->Load8<5>()),
                           .qpn = reader->Load32<8>() & 0xFFFFFF};
  if (version == 4 && length == kIpv4Size) {
    header.address = LoadAddress(bytes.subspan(12, 4));
  } else if (version == 6 && length == kIpv6Size) {
    header.address = LoadAddress(bytes.subspan(12, 16));
  } else {
    return std::nullopt;
  }
  return header;
}

void DatagramUdpHeader::Serialize(std::span<std::byte> bytes) const {
  ByteWriter<kIpv4Size> writer(bytes);
  writer.Store32<0>(kTag);
  writer.Store8<4>(address.is_ipv4() ? 4 : 6);
  writer.Store8<5>(static_cast<uint8_t>(op));
  writer.Store8<6>(static_cast<uint8_t>(size()));
  writer.Store8<7>(0);
  writer.Store32<8>(qpn);
  StoreAddress(address, bytes.subspan(12, address.is_ipv4() ? 4 : 16));
}

}  // namespace verbena::rsockets
