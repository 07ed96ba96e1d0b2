#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "memory/access.h"
#include "transport/common/outbox.h"
#include "transport/common/qp_state.h"
#include "verbena/gid.h"
#include "verbena/strong_id.h"
#include "wire/roce/timer_codes.h"
#include "wire/roce/types.h"

namespace verbena::transport {

// The attributes that a modification of a queue pair can set, with the bits of ibv_qp_attr_mask.
enum class QpAttribute : uint32_t {
  kState = 1U << 0,
  kCurrentState = 1U << 1,
  kSqdNotify = 1U << 2,
  kAccess = 1U << 3,
  kPKeyIndex = 1U << 4,
  kPort = 1U << 5,
  kQKey = 1U << 6,
  kPath = 1U << 7,
  kPathMtu = 1U << 8,
  kTimeout = 1U << 9,
  kRetryCount = 1U << 10,
  kRnrRetry = 1U << 11,
  kRqPsn = 1U << 12,
  kMaxRdAtomic = 1U << 13,
  kAlternatePath = 1U << 14,
  kMinRnrTimer = 1U << 15,
  kSqPsn = 1U << 16,
  kMaxDestRdAtomic = 1U << 17,
  kPathMigration = 1U << 18,
  kCapacity = 1U << 19,
  kRemoteQp = 1U << 20,
  kRateLimit = 1U << 25,  // the verbs reserve the four bits before it
};

// A set of attributes. A value type. Invariant: every bit is an attribute.
class AttributeMask {
 public:
  static const AttributeMask kAll;

  constexpr AttributeMask() = default;
  // Implicit, so that one attribute can be passed where a set is expected.
  constexpr AttributeMask(QpAttribute attribute)  // NOLINT(google-explicit-constructor)
      : bits_(static_cast<uint32_t>(attribute)) {}

  // From the bits that a program passed; nullopt if a bit is no attribute.
  static constexpr std::optional<AttributeMask> FromBits(uint32_t bits) {
    constexpr uint32_t kKnown = ((1U << 21) - 1) | (1U << 25);
    if ((bits & ~kKnown) != 0) return std::nullopt;
    return AttributeMask(static_cast<QpAttribute>(bits));
  }

  constexpr uint32_t bits() const { return bits_; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool Has(AttributeMask other) const { return (bits_ & other.bits_) == other.bits_; }
  constexpr AttributeMask Without(AttributeMask other) const {
    return AttributeMask(static_cast<QpAttribute>(bits_ & ~other.bits_));
  }

  friend constexpr bool operator==(AttributeMask, AttributeMask) = default;

 private:
  uint32_t bits_ = 0;
};

constexpr AttributeMask operator|(AttributeMask a, AttributeMask b) {
  return AttributeMask(static_cast<QpAttribute>(a.bits() | b.bits()));
}
// Without this overload, `|` of two enumerators does not convert.
constexpr AttributeMask operator|(QpAttribute a, QpAttribute b) {
  return AttributeMask(a) | AttributeMask(b);
}

inline constexpr AttributeMask AttributeMask::kAll = *FromBits(0x21FFFFF);

using PortNumber = StrongId<struct PortNumberTag, uint8_t>;        // counts from 1
using PKeyIndex = StrongId<struct PKeyIndexTag, uint16_t>;         // into the port's P_Key table
using RetryCount = StrongId<struct RetryCountTag, uint8_t>;        // 3 bits
using RnrRetryCount = StrongId<struct RnrRetryCountTag, uint8_t>;  // 3 bits
using RdAtomicDepth = StrongId<struct RdAtomicDepthTag, uint8_t>;  // outstanding reads and atomics

inline constexpr RetryCount kRetryCountMax{7};
inline constexpr RnrRetryCount kRnrRetryForever{7};  // the largest value

// The values of the attributes in a mask. Values of other attributes are ignored.
//
// Four attributes have no value. Capacity and rate limit apply to no transition of the supported
// types. Alternate path and path migration are accepted where the specification allows them, and
// have no effect.
struct QpSettings {
  QpState state{};
  QpState current_state{};
  bool sqd_notify = false;  // raise an event when the send queue has drained
  Access access;            // of the peer; local rights are accepted and ignored
  PKeyIndex p_key_index;
  PortNumber port{1};
  QKey q_key;
  PathId path;
  bool peer_is_here = false;  // the path ends on this machine
  PathMtu path_mtu = PathMtu::k1024;
  wire::AckTimeout timeout;
  RetryCount retry_count;
  RnrRetryCount rnr_retry;
  Psn rq_psn;
  RdAtomicDepth max_rd_atomic;
  wire::RnrTimer min_rnr_timer;
  Psn sq_psn;
  RdAtomicDepth max_dest_rd_atomic;
  QpNumber remote_qp;
};

// The limits of an adapter. The defaults are the limits of the specification.
struct AttributeLimits {
  PortNumber port_max{254};
  PKeyIndex p_key_index_max{0xFFFF};
  PathMtu path_mtu_max = PathMtu::k4096;
  RdAtomicDepth max_rd_atomic_max{0xFF};
  RdAtomicDepth max_dest_rd_atomic_max{0xFF};
};

// A value out of its range.
struct AttributeError {
  QpAttribute attribute;

  friend bool operator==(const AttributeError&, const AttributeError&) = default;
};

// The first attribute of `mask` that has a value out of range.
[[nodiscard]] std::optional<AttributeError> Validate(const QpSettings& attributes,
                                                     AttributeMask mask,
                                                     const AttributeLimits& limits = {});

// The attributes that a transition requires, and those that it accepts in addition. A modification
// without a change of state is a transition, too.
struct Transition {
  AttributeMask required;
  AttributeMask optional;

  friend bool operator==(const Transition&, const Transition&) = default;
};

// nullopt if a program may not request the transition. kSqe cannot be requested: a queue pair
// enters it on an error.
[[nodiscard]] std::optional<Transition> FindTransition(QpType type, QpState from, QpState to);

struct TransitionError {
  enum class Kind : uint8_t { kNotAllowed, kMissing, kNotApplicable };

  Kind kind;
  QpType type;
  QpState from;
  QpState to;
  AttributeMask attributes;  // all that are missing or not applicable

  friend bool operator==(const TransitionError&, const TransitionError&) = default;
};

// Whether a modification with the attributes of `mask` may take a queue pair from one state to the
// other. Every transition accepts kState and none requires it, because the caller knows `to`.
[[nodiscard]] std::optional<TransitionError> CheckTransition(QpType type, QpState from, QpState to,
                                                             AttributeMask mask);

const char* NameOf(QpAttribute attribute);     // as in the verbs: "PATH_MTU"
std::string ToString(AttributeMask mask);      // "PORT, QKEY"; "none"
std::string ToString(const AttributeError&);   // "TIMEOUT is out of range"
std::string ToString(const TransitionError&);  // "RC RESET -> INIT needs PORT"

}  // namespace verbena::transport
