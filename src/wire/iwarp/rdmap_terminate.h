#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "wire/iwarp/ddp_tagged.h"
#include "wire/iwarp/ddp_untagged.h"
#include "wire/iwarp/rdmap_read_request.h"
#include "wire/iwarp/terminate_code.h"

namespace verbena::wire {

// Body of a Terminate message (RFC 5040, 4.8): the error, and the headers of the segment that was
// refused.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   | Layer | EType |  Error Code   |M|D|R|        Reserved         |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |  DDP Segment Length  (if M)   |                               |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+                               +
//   |                Terminated DDP Header (if D): 14 or 18 bytes   |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                Terminated RDMAP Header (if R): 28 bytes       |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// A value type. Invariant: a read request stands only after an untagged header, and that after the
// length.
struct RdmapTerminate {
  static constexpr std::size_t kSizeMin = 4;
  static constexpr std::size_t kSizeMax = 4 + 2 + DdpUntagged::kSize + RdmapReadRequest::kSize;
  using Header = std::variant<std::monostate, DdpTagged, DdpUntagged>;

  TerminateCode code{};
  std::optional<uint16_t> segment_length{};
  Header header{};
  std::optional<RdmapReadRequest> read_request{};

  [[nodiscard]] std::size_t size() const;
  // nullopt if there are too few bytes for what the first four promise.
  [[nodiscard]] static std::optional<RdmapTerminate> Parse(std::span<const std::byte> bytes);
  // REQUIRES: size() bytes.
  void Serialize(std::span<std::byte> bytes) const;

  friend bool operator==(const RdmapTerminate&, const RdmapTerminate&) = default;
};

[[nodiscard]] std::string ToString(const RdmapTerminate& terminate);

}  // namespace verbena::wire
