#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/byte_reader.h"
#include "base/byte_writer.h"

namespace verbena::wire {

// The kind of a message to a tag matching queue.
enum class TagOpcode : uint8_t {
  kNoTag = 0,
  kRendezvous = 1,  // has the address of the data, which the receiver reads
  kFinished = 2,    // the receiver has read the data
  kEager = 3,       // the data follows
};

// Tag matching header: the first bytes of such a message. To the transport they are payload.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |   Operation   |                   reserved                    |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                      Application context                      |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                              Tag                              |
//   +                                                               +
//   |                                                               |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// A value type.
struct TagHeader {
  static constexpr std::size_t kSize = 16;

  TagOpcode operation = TagOpcode::kNoTag;
  uint32_t context = 0;  // of the sender's program
  uint64_t tag = 0;

  [[nodiscard]] static std::optional<TagHeader> Parse(std::span<const std::byte> bytes) {
    const auto reader = ByteReader<kSize>::From(bytes);
    if (!reader) return std::nullopt;
    return TagHeader{.operation = static_cast<TagOpcode>(reader->Load8<0>()),
                     .context = reader->Load32<4>(),
                     .tag = reader->Load64<8>()};
  }

  void Serialize(std::span<std::byte> bytes) const {
    ByteWriter<kSize> writer(bytes);
    writer.Store32<0>(0);
    writer.Store8<0>(static_cast<uint8_t>(operation));
    writer.Store32<4>(context);
    writer.Store64<8>(tag);
  }

  friend bool operator==(const TagHeader&, const TagHeader&) = default;
};

// Follows the header of a rendezvous request: the address of the data.
//
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                        Virtual address                        |
//   +                                                               +
//   |                                                               |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                             R_Key                             |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                            Length                             |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// A value type.
struct RendezvousHeader {
  static constexpr std::size_t kSize = 16;

  uint64_t address = 0;
  uint32_t r_key = 0;
  uint32_t length = 0;

  [[nodiscard]] static std::optional<RendezvousHeader> Parse(std::span<const std::byte> bytes) {
    const auto reader = ByteReader<kSize>::From(bytes);
    if (!reader) return std::nullopt;
    return RendezvousHeader{.address = reader->Load64<0>(),
                            .r_key = reader->Load32<8>(),
                            .length = reader->Load32<12>()};
  }

  void Serialize(std::span<std::byte> bytes) const {
    ByteWriter<kSize> writer(bytes);
    writer.Store64<0>(address);
    writer.Store32<8>(r_key);
    writer.Store32<12>(length);
  }

  friend bool operator==(const RendezvousHeader&, const RendezvousHeader&) = default;
};

[[nodiscard]] std::string ToString(const TagHeader& header);
[[nodiscard]] std::string ToString(const RendezvousHeader& header);

}  // namespace verbena::wire
