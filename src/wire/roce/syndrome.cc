#include "wire/roce/syndrome.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace verbena::wire {
namespace {

// IBA table 47.
constexpr std::array<uint32_t, 31> kCredits = {
    0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
    256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
};

}  // namespace

std::optional<uint32_t> CreditsOf(CreditCode code) {
  if (code == kCreditsInvalid) return std::nullopt;
  CHECK(code.value() < kCredits.size());
  return kCredits[code.value()];
}

CreditCode CreditCodeAtMost(uint32_t available) {
  const auto* above = std::upper_bound(kCredits.begin(), kCredits.end(), available);
  return CreditCode(static_cast<uint8_t>(std::distance(kCredits.begin(), above) - 1));
}

const char* NameOf(NakCode code) {
  switch (code) {
    case NakCode::kPsnSequenceError:
      return "PSN sequence error";
    case NakCode::kInvalidRequest:
      return "invalid request";
    case NakCode::kRemoteAccessError:
      return "remote access error";
    case NakCode::kRemoteOperationalError:
      return "remote operational error";
    case NakCode::kInvalidRdRequest:
      return "invalid RD request";
  }
  UNREACHABLE();
}

std::string ToString(Syndrome syndrome) {
  switch (syndrome.kind()) {
    case Syndrome::Kind::kAck: {
      const auto credits = CreditsOf(syndrome.credits());
      return credits ? "ACK with " + std::to_string(*credits) + " credits" : "ACK";
    }
    case Syndrome::Kind::kRnrNak:
      return "RNR NAK, wait " + ToString(DurationOf(syndrome.rnr_timer()));
    case Syndrome::Kind::kNak:
      return std::string("NAK, ") + NameOf(syndrome.nak_code());
  }
  UNREACHABLE();
}

}  // namespace verbena::wire
