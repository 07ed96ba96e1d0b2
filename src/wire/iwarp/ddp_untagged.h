#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "wire/iwarp/ddp_control.h"
#include "wire/iwarp/types.h"

namespace verbena::wire {

// Header of an untagged DDP segment (RFC 5041, 4.3): the queue, and the place of its payload in the
// buffer that the receiver has there for the message.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//                                   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//                                   |T|L| Rsvd  |DV | RV|Rsv| Opcode|
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                        Invalidate STag                        |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                         Queue Number                          |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                    Message Sequence Number                    |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                        Message Offset                         |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// The MPA length stands in the two bytes before it. DDP reserves the word of the STag for its upper
// layer, and RDMAP sends 0 there in messages that invalidate nothing. A value type.
struct DdpUntagged {
  static constexpr std::size_t kSize = 18;

  DdpControl control{};
  Key invalidate{};
  DdpQueue queue{};  // may be one without a meaning
  DdpMsn msn{};
  MessageOffset offset{};

  // nullopt if there are too few bytes, or if the segment is tagged.
  [[nodiscard]] static std::optional<DdpUntagged> Parse(std::span<const std::byte> bytes) {
    const auto reader = ByteReader<kSize>::From(bytes);
    if (!reader) return std::nullopt;
    const auto control = DdpControl::Parse(bytes);
    if (control->tagged) return std::nullopt;
    return DdpUntagged{.control = *control,
                       .invalidate = Key(reader->Load32<2>()),
                       .queue = static_cast<DdpQueue>(reader->Load32<6>()),
                       .msn = DdpMsn(reader->Load32<10>()),
                       .offset = MessageOffset(reader->Load32<14>())};
  }

  void Serialize(std::span<std::byte> bytes) const {
    ByteWriter<kSize> writer(bytes);
    control.Serialize(bytes);
    writer.Store32<2>(invalidate.value());
    writer.Store32<6>(static_cast<uint32_t>(queue));
    writer.Store32<10>(msn.value());
    writer.Store32<14>(offset.value());
  }

  friend bool operator==(const DdpUntagged&, const DdpUntagged&) = default;
};

[[nodiscard]] std::string ToString(const DdpUntagged& header);

}  // namespace verbena::wire
