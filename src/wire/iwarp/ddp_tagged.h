#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "wire/iwarp/ddp_control.h"
#include "wire/iwarp/types.h"

namespace verbena::wire {

// Header of a tagged DDP segment (RFC 5041, 4.2): the place of its payload in the memory of the
// receiver.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//                                   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//                                   |T|L| Rsvd  |DV | RV|Rsv| Opcode|
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                             STag                              |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                     Tagged Offset (high)                      |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                     Tagged Offset (low)                       |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// The MPA length stands in the two bytes before it. A value type.
struct DdpTagged {
  static constexpr std::size_t kSize = 14;

  DdpControl control{.tagged = true};
  Key stag{};
  KeyAddress offset{};

  // nullopt if there are too few bytes, or if the segment is untagged.
  [[nodiscard]] static std::optional<DdpTagged> Parse(std::span<const std::byte> bytes) {
    const auto reader = ByteReader<kSize>::From(bytes);
    if (!reader) return std::nullopt;
    const auto control = DdpControl::Parse(bytes);
    if (!control->tagged) return std::nullopt;
    return DdpTagged{.control = *control,
                     .stag = Key(reader->Load32<2>()),
                     .offset = KeyAddress(reader->Load64<6>())};
  }

  void Serialize(std::span<std::byte> bytes) const {
    ByteWriter<kSize> writer(bytes);
    control.Serialize(bytes);
    writer.Store32<2>(stag.value());
    writer.Store64<6>(offset.value());
  }

  friend bool operator==(const DdpTagged&, const DdpTagged&) = default;
};

[[nodiscard]] std::string ToString(const DdpTagged& header);

}  // namespace verbena::wire
