#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/iwarp/iwarp_config.h"
#include "wire/iwarp/mpa_request.h"

namespace verbena::transport {

// What one side wants of a connection (RFC 5044, 7; RFC 6581).
struct MpaTerms {
  uint8_t revision = 2;  // 1: without the negotiation of depths
  bool markers = false;  // in what it receives
  bool crc = true;
  uint16_t ird = 0;  // reads and atomics that it accepts
  uint16_t ord = 0;  // that it may send
  // The initiator says that it is ready, so that the responder need not wait for its first message.
  bool peer_to_peer = true;
  uint16_t ulpdu_max = kUlpduMin;  // segments that it sends
};

// How the initiator says that it is ready.
enum class MpaRtr : uint8_t { kNone, kEmptyFrame, kWrite, kRead };

// What both sides have agreed on, as one of them sees it.
struct MpaAgreement {
  uint8_t revision = 1;
  StreamConfig stream = {};
  uint16_t ird = 0;
  uint16_t ord = 0;
  MpaRtr rtr = MpaRtr::kNone;
};

// Why a set-up has failed.
enum class MpaFailure : uint8_t {
  kNotMpa,           // the key is wrong
  kRevision,         // that this side does not know
  kPrivateData,      // more than 512 bytes, or too few for an enhanced frame
  kInsufficientIrd,  // the peer wants to send more reads than this side accepts
  kNoMatchingRtr,
};

[[nodiscard]] const char* NameOf(MpaFailure failure);

// Collects one MPA frame with its private data, from bytes that arrive in pieces of any size. Has
// room for the longest frame, and takes no byte behind it.
class MpaFrameReader {
 public:
  explicit MpaFrameReader(wire::MpaFrameKind kind) : kind_(kind) {}

  // Returns how many bytes it has taken.
  size_t Take(std::span<const std::byte> bytes);

  [[nodiscard]] bool is_complete() const { return is_complete_; }
  [[nodiscard]] std::optional<MpaFailure> failure() const { return failure_; }

  // REQUIRES, for the rest: is_complete().
  [[nodiscard]] const wire::MpaRequest& frame() const { return frame_; }
  // nullopt unless the frame is enhanced.
  [[nodiscard]] std::optional<wire::MpaEnhanced> enhanced() const;
  // That of the program.
  [[nodiscard]] std::span<const std::byte> private_data() const;

 private:
  void OnHeader();

  const wire::MpaFrameKind kind_;
  std::array<std::byte, wire::MpaRequest::kSize + wire::MpaRequest::kPrivateDataMax> bytes_;
  size_t size_ = 0;
  wire::MpaRequest frame_;
  bool has_header_ = false;
  bool is_complete_ = false;
  std::optional<MpaFailure> failure_;
};

// A frame as bytes.
class MpaFrameBytes {
 public:
  // REQUIRES: the private data has at most MpaPrivateDataMax(revision) bytes.
  MpaFrameBytes(const wire::MpaRequest& frame, const std::optional<wire::MpaEnhanced>& enhanced,
                std::span<const std::byte> private_data);

  [[nodiscard]] std::span<const std::byte> bytes() const { return std::span(bytes_).first(size_); }

 private:
  std::array<std::byte, wire::MpaRequest::kSize + wire::MpaRequest::kPrivateDataMax> bytes_;
  size_t size_ = 0;
};

// The private data of a program that a frame of this revision has room for.
[[nodiscard]] constexpr size_t MpaPrivateDataMax(uint8_t revision) {
  return wire::MpaRequest::kPrivateDataMax - (revision >= 2 ? wire::MpaEnhanced::kSize : 0);
}

// The request of an initiator.
[[nodiscard]] MpaFrameBytes MakeMpaRequest(const MpaTerms& terms,
                                           std::span<const std::byte> private_data);

// The responder accepts a request: its reply, and what is agreed on.
struct MpaAcceptance {
  MpaFrameBytes reply;
  MpaAgreement agreement;
};
// REQUIRES: the request is complete.
[[nodiscard]] MpaAcceptance AcceptMpa(const MpaFrameReader& request, const MpaTerms& terms,
                                      std::span<const std::byte> private_data);
[[nodiscard]] MpaFrameBytes RejectMpa(const MpaFrameReader& request,
                                      std::span<const std::byte> private_data);

// What the initiator and the responder have agreed on; nullopt, and the reason, if the reply is not
// acceptable. REQUIRES: the reply is complete and does not reject.
struct MpaResult {
  std::optional<MpaAgreement> agreement = {};
  MpaFailure failure = {};
};
[[nodiscard]] MpaResult ConcludeMpa(const MpaTerms& terms, const MpaFrameReader& reply);

}  // namespace verbena::transport
