#include "adapter/cm/forwarded_mad.h"

#include <algorithm>
#include <cstring>

#include "base/byte_reader.h"
#include "base/byte_writer.h"

namespace verbena::adapter {
namespace {

constexpr std::size_t kHeaderSize = ForwardedMad::kSize - wire::kMadSize;
constexpr std::size_t kSourceAt = 16, kDestinationAt = 32;
constexpr uint32_t kQpNumberEnd = 1U << 24;

IpAddress LoadAddress(std::span<const std::byte> bytes) {
  IpAddress address;
  std::memcpy(address.bytes.data(), bytes.data(), address.bytes.size());
  return address;
}

void StoreAddress(const IpAddress& address, std::span<std::byte> bytes) {
  std::memcpy(bytes.data(), address.bytes.data(), address.bytes.size());
}

}  // namespace

std::optional<ForwardedMad> ForwardedMad::Parse(std::span<const std::byte> bytes) {
  const auto reader = ByteReader<kHeaderSize>::From(bytes);
  if (!reader || bytes.size() != kSize) return std::nullopt;
  if (reader->Load32<0>() != kMagic || reader->Load8<4>() != kVersion) return std::nullopt;
  if (reader->Load16<10>() != 0 || reader->Load32<12>() >= kQpNumberEnd) return std::nullopt;
  ForwardedMad forwarded{
      .service = {.protocol = static_cast<wire::IpCmProtocol>(reader->Load8<5>()),
                  .port = reader->Load16<6>()},
      .source = LoadAddress(bytes.subspan(kSourceAt)),
      .destination = LoadAddress(bytes.subspan(kDestinationAt)),
      .source_qp = QpNumber(reader->Load32<12>()),
      .source_port = reader->Load16<8>()};
  std::ranges::copy(reader->rest(), forwarded.mad.begin());
  return forwarded;
}

void ForwardedMad::Serialize(std::span<std::byte> bytes) const {
  CHECK(bytes.size() == kSize && source_qp.value() < kQpNumberEnd);
  ByteWriter<kHeaderSize> writer(bytes);
  writer.Store32<0>(kMagic);
  writer.Store8<4>(kVersion);
  writer.Store8<5>(static_cast<uint8_t>(service.protocol));
  writer.Store16<6>(service.port);
  writer.Store16<8>(source_port);
  writer.Store16<10>(0);
  writer.Store32<12>(source_qp.value());
  StoreAddress(source, bytes.subspan(kSourceAt));
  StoreAddress(destination, bytes.subspan(kDestinationAt));
  std::ranges::copy(mad, writer.rest().begin());
}

}  // namespace verbena::adapter
