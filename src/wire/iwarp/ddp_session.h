#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "verbena/numbers.h"

namespace verbena::wire {

// DDP over SCTP (RFC 5043): what the messages of an association carry. The numbers are registered
// with IANA: payload protocol identifiers 16 and 17, adaptation code point 1.
enum class DdpProtocol : uint32_t {
  kSegment = 16,         // a DdpSequence, then one DDP segment
  kSessionControl = 17,  // a DdpSessionControl, then private data
};
inline constexpr uint32_t kDdpAdaptation = 1;

// Number of a message in its direction of a session. SCTP delivers unordered messages as they
// arrive, and their receiver brings them in order by it.
using DdpSsn = SerialNumber<struct DdpSsnTag, 16>;

// First bytes of every message of a session.
//
//    0                   1
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |            DDP-SSN            |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// A value type.
struct DdpSequence {
  static constexpr std::size_t kSize = 2;

  DdpSsn ssn{};

  [[nodiscard]] static std::optional<DdpSequence> Parse(std::span<const std::byte> bytes) {
    const auto reader = ByteReader<kSize>::From(bytes);
    if (!reader) return std::nullopt;
    return DdpSequence{.ssn = DdpSsn(reader->Load16<0>())};
  }
  void Serialize(std::span<std::byte> bytes) const {
    ByteWriter<kSize>(bytes).Store16<0>(static_cast<uint16_t>(ssn.value()));
  }

  friend bool operator==(const DdpSequence&, const DdpSequence&) = default;
};

// What a control message asks for. The enhanced ones are of RFC 6581: their private data begins
// with an MpaEnhanced.
enum class DdpFunction : uint16_t {
  kInitiate = 1,
  kAccept = 2,
  kReject = 3,
  kTerminate = 4,
  kEnhancedInitiate = 5,
  kEnhancedAccept = 6,
  kEnhancedReject = 7,
};

// Message that begins or ends a session. Private data follows it.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |            DDP-SSN            |         Function Code         |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// A value type.
struct DdpSessionControl {
  static constexpr std::size_t kSize = 4;
  static constexpr std::size_t kPrivateDataMax = 512;

  DdpSsn ssn{};
  DdpFunction function{};

  // nullopt if there are too few bytes, or if the function is unknown.
  [[nodiscard]] static std::optional<DdpSessionControl> Parse(std::span<const std::byte> bytes) {
    const auto reader = ByteReader<kSize>::From(bytes);
    if (!reader) return std::nullopt;
    const uint16_t code = reader->Load16<2>();
    const bool is_known = code >= static_cast<uint16_t>(DdpFunction::kInitiate) &&
                          code <= static_cast<uint16_t>(DdpFunction::kEnhancedReject);
    if (!is_known) return std::nullopt;
    return DdpSessionControl{.ssn = DdpSsn(reader->Load16<0>()),
                             .function = static_cast<DdpFunction>(code)};
  }
  void Serialize(std::span<std::byte> bytes) const {
    ByteWriter<kSize> writer(bytes);
    writer.Store16<0>(static_cast<uint16_t>(ssn.value()));
    writer.Store16<2>(static_cast<uint16_t>(function));
  }

  friend bool operator==(const DdpSessionControl&, const DdpSessionControl&) = default;
};

[[nodiscard]] std::string ToString(const DdpSequence& header);
[[nodiscard]] std::string ToString(DdpFunction function);
[[nodiscard]] std::string ToString(const DdpSessionControl& control);

}  // namespace verbena::wire
