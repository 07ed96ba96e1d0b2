#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "wire/iwarp/ddp_session.h"
#include "wire/iwarp/mpa_request.h"

namespace verbena::transport {

// The set-up of a DDP stream session says over SCTP what that of MPA says over TCP (RFC 6581, 4):
// so a connection manager knows one form of it, the MPA frame, and these two translate.
//
//   MPA request    Initiate          Enhanced Initiate, if the frame is enhanced
//   MPA reply      Accept or Reject  the enhanced ones, if the frame is enhanced

// A frame with its private data, as a control message and private data.
struct SessionControlBytes {
  static constexpr size_t kMax =
      wire::DdpSessionControl::kSize + wire::DdpSessionControl::kPrivateDataMax;

  [[nodiscard]] std::span<const std::byte> view() const { return std::span(bytes).first(size); }

  std::array<std::byte, kMax> bytes;
  size_t size = 0;
};
// nullopt unless `frame` begins with a whole MPA frame.
[[nodiscard]] std::optional<SessionControlBytes> ControlOf(std::span<const std::byte> frame,
                                                           wire::DdpSsn ssn);

// A control message as an MPA frame.
struct SetupFrameBytes {
  static constexpr size_t kMax = wire::MpaRequest::kSize + wire::MpaRequest::kPrivateDataMax;

  [[nodiscard]] std::span<const std::byte> view() const { return std::span(bytes).first(size); }

  std::array<std::byte, kMax> bytes;
  size_t size = 0;
};
// nullopt if the message ends a session, is no control message, or has too much private data.
[[nodiscard]] std::optional<SetupFrameBytes> FrameOf(std::span<const std::byte> control);

}  // namespace verbena::transport
