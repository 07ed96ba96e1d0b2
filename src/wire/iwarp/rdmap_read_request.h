#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "wire/iwarp/types.h"

namespace verbena::wire {

// Body of an RDMA Read Request (RFC 5040, 4.4): what to read, and where the response goes.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                      Data Sink STag                           |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                  Data Sink Tagged Offset (high)               |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                  Data Sink Tagged Offset (low)                |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                  RDMA Read Message Size                       |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                     Data Source STag                          |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                 Data Source Tagged Offset (high)              |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                 Data Source Tagged Offset (low)               |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// A value type.
struct RdmapReadRequest {
  static constexpr std::size_t kSize = 28;

  Key sink_stag{};
  KeyAddress sink_offset{};
  uint32_t size = 0;
  Key source_stag{};
  KeyAddress source_offset{};

  [[nodiscard]] static std::optional<RdmapReadRequest> Parse(std::span<const std::byte> bytes) {
    const auto reader = ByteReader<kSize>::From(bytes);
    if (!reader) return std::nullopt;
    return RdmapReadRequest{.sink_stag = Key(reader->Load32<0>()),
                            .sink_offset = KeyAddress(reader->Load64<4>()),
                            .size = reader->Load32<12>(),
                            .source_stag = Key(reader->Load32<16>()),
                            .source_offset = KeyAddress(reader->Load64<20>())};
  }

  void Serialize(std::span<std::byte> bytes) const {
    ByteWriter<kSize> writer(bytes);
    writer.Store32<0>(sink_stag.value());
    writer.Store64<4>(sink_offset.value());
    writer.Store32<12>(size);
    writer.Store32<16>(source_stag.value());
    writer.Store64<20>(source_offset.value());
  }

  friend bool operator==(const RdmapReadRequest&, const RdmapReadRequest&) = default;
};

[[nodiscard]] std::string ToString(const RdmapReadRequest& request);

}  // namespace verbena::wire
