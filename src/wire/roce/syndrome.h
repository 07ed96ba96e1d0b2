#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/check.h"
#include "verbena/strong_id.h"
#include "wire/roce/timer_codes.h"

namespace verbena::wire {

// The reason of a NAK (IBA table 46). Only a PSN sequence error makes the requester retransmit.
enum class NakCode : uint8_t {
  kPsnSequenceError = 0,
  kInvalidRequest = 1,
  kRemoteAccessError = 2,
  kRemoteOperationalError = 3,
  kInvalidRdRequest = 4,
};

[[nodiscard]] const char* NameOf(NakCode code);

// The number of posted receive requests of the responder, as a code of 5 bits (IBA table 47).
using CreditCode = StrongId<struct CreditCodeTag, uint8_t>;

// The code of a responder without end-to-end flow control.
inline constexpr CreditCode kCreditsInvalid{31};

// nullopt for kCreditsInvalid.
[[nodiscard]] std::optional<uint32_t> CreditsOf(CreditCode code);

// The largest number of credits that does not exceed `available`.
[[nodiscard]] CreditCode CreditCodeAtMost(uint32_t available);

// The first byte of the AETH (IBA table 44): an acknowledgement with credits, a NAK with its
// reason, or "receiver not ready" with the time to wait. A value type; never a reserved value.
class Syndrome {
 public:
  enum class Kind : uint8_t { kAck = 0, kRnrNak = 1, kNak = 3 };

  constexpr Syndrome() = default;  // an acknowledgement without credits

  [[nodiscard]] static constexpr Syndrome Ack(CreditCode credits = kCreditsInvalid) {
    return Syndrome(Kind::kAck, credits.value());
  }
  [[nodiscard]] static constexpr Syndrome RnrNak(RnrTimer timer) {
    return Syndrome(Kind::kRnrNak, timer.value());
  }
  [[nodiscard]] static constexpr Syndrome Nak(NakCode code) {
    return Syndrome(Kind::kNak, static_cast<uint8_t>(code));
  }
  // nullopt for values that the specification reserves.
  [[nodiscard]] static constexpr std::optional<Syndrome> FromByte(uint8_t byte) {
    const uint8_t kind = byte >> kCodeBits;
    const uint8_t code = byte & kCodeMask;
    if (kind > 3 || kind == 2) return std::nullopt;
    if (kind == 3 && code > static_cast<uint8_t>(NakCode::kInvalidRdRequest)) return std::nullopt;
    return Syndrome(static_cast<Kind>(kind), code);
  }

  [[nodiscard]] constexpr Kind kind() const { return static_cast<Kind>(byte_ >> kCodeBits); }
  [[nodiscard]] constexpr bool is_ack() const { return kind() == Kind::kAck; }
  [[nodiscard]] constexpr CreditCode credits() const {
    CHECK(kind() == Kind::kAck);
    return CreditCode(byte_ & kCodeMask);
  }
  [[nodiscard]] constexpr RnrTimer rnr_timer() const {
    CHECK(kind() == Kind::kRnrNak);
    return RnrTimer(byte_ & kCodeMask);
  }
  [[nodiscard]] constexpr NakCode nak_code() const {
    CHECK(kind() == Kind::kNak);
    return static_cast<NakCode>(byte_ & kCodeMask);
  }
  [[nodiscard]] constexpr uint8_t byte() const { return byte_; }

  friend constexpr bool operator==(Syndrome, Syndrome) = default;

 private:
  static constexpr unsigned kCodeBits = 5;
  static constexpr uint8_t kCodeMask = (1 << kCodeBits) - 1;

  constexpr Syndrome(Kind kind, uint8_t code)
      : byte_(static_cast<uint8_t>(static_cast<unsigned>(kind) << kCodeBits | code)) {
    CHECK(code <= kCodeMask);
  }

  uint8_t byte_ = kCreditsInvalid.value();
};

[[nodiscard]] std::string ToString(Syndrome syndrome);

}  // namespace verbena::wire
