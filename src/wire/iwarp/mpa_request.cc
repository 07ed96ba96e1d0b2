#include "wire/iwarp/mpa_request.h"

#include <algorithm>
#include <string_view>

#include "base/check.h"

namespace verbena::wire {
namespace {

constexpr std::string_view kRequestKey = "MPA ID Req Frame";
constexpr std::string_view kReplyKey = "MPA ID Rep Frame";
static_assert(kRequestKey.size() == MpaRequest::kKeySize);
static_assert(kReplyKey.size() == MpaRequest::kKeySize);

constexpr uint8_t kMarkers = 0x80;
constexpr uint8_t kCrc = 0x40;
constexpr uint8_t kReject = 0x20;
constexpr uint8_t kEnhanced = 0x10;

std::optional<MpaFrameKind> KindOf(std::span<const std::byte> key) {
  for (const MpaFrameKind kind : {MpaFrameKind::kRequest, MpaFrameKind::kReply}) {
    if (std::ranges::equal(key, MpaKeyOf(kind))) return kind;
  }
  return std::nullopt;
}

}  // namespace

std::span<const std::byte> MpaKeyOf(MpaFrameKind kind) {
  return std::as_bytes(std::span(kind == MpaFrameKind::kRequest ? kRequestKey : kReplyKey));
}

std::optional<MpaRequest> MpaRequest::Parse(std::span<const std::byte> bytes) {
  const auto reader = ByteReader<kSize>::From(bytes);
  if (!reader) return std::nullopt;
  const auto kind = KindOf(bytes.first(kKeySize));
  if (!kind) return std::nullopt;
  const uint8_t flags = reader->Load8<16>();
  return MpaRequest{.kind = *kind,
                    .markers = (flags & kMarkers) != 0,
                    .crc = (flags & kCrc) != 0,
                    .rejects = (flags & kReject) != 0,
                    .enhanced = (flags & kEnhanced) != 0,
                    .revision = reader->Load8<17>(),
                    .private_data_length = reader->Load16<18>()};
}

void MpaRequest::Serialize(std::span<std::byte> bytes) const {
  ByteWriter<kSize> writer(bytes);
  std::ranges::copy(MpaKeyOf(kind), bytes.begin());
  const int flags = (markers ? kMarkers : 0) | (crc ? kCrc : 0) | (rejects ? kReject : 0) |
                    (enhanced ? kEnhanced : 0);
  writer.Store8<16>(static_cast<uint8_t>(flags));
  writer.Store8<17>(revision);
  writer.Store16<18>(private_data_length);
}

void MpaEnhanced::Serialize(std::span<std::byte> bytes) const {
  CHECK(ird <= kDepthMax && ord <= kDepthMax);
  ByteWriter<kSize> writer(bytes);
  const int first = (peer_to_peer ? 0x8000 : 0) | (rtr_zero_length ? 0x4000 : 0) | ird;
  const int second = (rtr_write ? 0x8000 : 0) | (rtr_read ? 0x4000 : 0) | ord;
  writer.Store16<0>(static_cast<uint16_t>(first));
  writer.Store16<2>(static_cast<uint16_t>(second));
}

}  // namespace verbena::wire
