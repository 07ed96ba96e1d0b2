#include "transport/common/qp_attributes.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace verbena::transport {
namespace {

using enum QpAttribute;
using enum QpState;

constexpr struct {
  QpAttribute attribute;
  const char* name;
} kNames[] = {
    {kState, "STATE"},
    {kCurrentState, "CUR_STATE"},
    {kSqdNotify, "EN_SQD_ASYNC_NOTIFY"},
    {kAccess, "ACCESS_FLAGS"},
    {kPKeyIndex, "PKEY_INDEX"},
    {kPort, "PORT"},
    {kQKey, "QKEY"},
    {kPath, "AV"},
    {kPathMtu, "PATH_MTU"},
    {kTimeout, "TIMEOUT"},
    {kRetryCount, "RETRY_CNT"},
    {kRnrRetry, "RNR_RETRY"},
    {kRqPsn, "RQ_PSN"},
    {kMaxRdAtomic, "MAX_QP_RD_ATOMIC"},
    {kAlternatePath, "ALT_PATH"},
    {kMinRnrTimer, "MIN_RNR_TIMER"},
    {kSqPsn, "SQ_PSN"},
    {kMaxDestRdAtomic, "MAX_DEST_RD_ATOMIC"},
    {kPathMigration, "PATH_MIG_STATE"},
    {kCapacity, "CAP"},
    {kRemoteQp, "DEST_QPN"},
    {kRateLimit, "RATE_LIMIT"},
};

// A set of values of a small enum, so that one row can apply to several.
template <class Enum>
class SetOf {
 public:
  constexpr SetOf(Enum value)  // NOLINT(google-explicit-constructor)
      : SetOf(static_cast<uint8_t>(1U << static_cast<unsigned>(value))) {}
  static constexpr SetOf FirstOnes(size_t count) {
    return SetOf(static_cast<uint8_t>((1U << count) - 1));
  }

  constexpr bool Has(Enum value) const { return (bits_ & SetOf(value).bits_) != 0; }
  constexpr SetOf Or(SetOf other) const { return SetOf(static_cast<uint8_t>(bits_ | other.bits_)); }
  constexpr SetOf Without(Enum value) const {
    return SetOf(static_cast<uint8_t>(bits_ & ~SetOf(value).bits_));
  }

 private:
  constexpr explicit SetOf(uint8_t bits) : bits_(bits) {}

  uint8_t bits_;
};

using Types = SetOf<QpType>;
using States = SetOf<QpState>;

struct Row {
  States from;
  QpState to;
  Types types;
  AttributeMask required;
  AttributeMask optional;
};

constexpr Types kAnyType = Types::FirstOnes(kQpTypeCount);
constexpr States kAnyState = States::FirstOnes(kQpStateCount);

constexpr Types kRc = QpType::kRc;
constexpr Types kUc = QpType::kUc;
constexpr Types kUd = QpType::kUd;
constexpr Types kXrcSend = QpType::kXrcSend;
constexpr Types kXrcReceive = QpType::kXrcReceive;
constexpr Types kStream = QpType::kStream;
constexpr Types kConnected = kAnyType.Without(QpType::kUd);
constexpr Types kReliable = kConnected.Without(QpType::kUc);
// Types that acknowledge requests have an RNR timer and responder resources. Connected types that
// do not acknowledge have neither.
constexpr Types kAnswers = kRc.Or(kXrcReceive);
constexpr Types kNeverAnswers = kUc.Or(kXrcSend);

constexpr AttributeMask kNone;
constexpr AttributeMask kConnection = kPath | kPathMtu | kRemoteQp | kRqPsn;
constexpr AttributeMask kRetries = kTimeout | kRetryCount | kRnrRetry | kMaxRdAtomic;
constexpr AttributeMask kMigration = kAlternatePath | kPathMigration;
// Attributes that may change while the queue pair runs.
constexpr AttributeMask kRunning = kCurrentState | kAccess | kMigration;
constexpr AttributeMask kDrained = kPath | kAccess | kPKeyIndex | kMigration;

// IBA 10.3.1 and table 91, "QP state transition properties", with the types that Linux added, and
// streams, which the connection manager moves from INIT to RTS.
constexpr Row kTransitions[] = {
    {kAnyState, kReset, kAnyType, kNone, kNone},
    {kAnyState, kErr, kAnyType, kNone, kNone},  // also from kReset, which Linux refuses

    {kReset, kInit, kConnected, kPKeyIndex | kPort | kAccess, kNone},
    {kReset, kInit, kUd, kPKeyIndex | kPort | kQKey, kNone},

    {kInit, kInit, kConnected, kNone, kPKeyIndex | kPort | kAccess},
    {kInit, kInit, kUd, kNone, kPKeyIndex | kPort | kQKey},

    {kInit, kRtr, kAnswers, kConnection | kMaxDestRdAtomic | kMinRnrTimer,
     kAlternatePath | kAccess | kPKeyIndex},
    {kInit, kRtr, kNeverAnswers, kConnection, kAlternatePath | kAccess | kPKeyIndex},
    {kInit, kRtr, kUd, kNone, kPKeyIndex | kQKey},

    {kRtr, kRts, kRc, kSqPsn | kRetries, kRunning | kMinRnrTimer},
    {kRtr, kRts, kXrcSend, kSqPsn | kRetries, kRunning},
    {kRtr, kRts, kXrcReceive, kSqPsn | kTimeout, kRunning | kMinRnrTimer},
    {kRtr, kRts, kUc, kSqPsn, kRunning},
    {kRtr, kRts, kUd, kSqPsn, kCurrentState | kQKey},

    {States(kRts).Or(kSqd), kRts, kAnswers, kNone, kRunning | kMinRnrTimer},
    {States(kRts).Or(kSqd), kRts, kNeverAnswers, kNone, kRunning},
    {States(kRts).Or(kSqd), kRts, kUd, kNone, kCurrentState | kQKey},
    {States(kRts).Or(kSqd), kRts, kStream, kNone, kCurrentState | kAccess},

    {kRts, kSqd, kAnyType, kNone, kSqdNotify},

    {kSqd, kSqd, kRc, kNone, kDrained | kPort | kRetries | kMaxDestRdAtomic | kMinRnrTimer},
    {kSqd, kSqd, kXrcSend, kNone, kDrained | kPort | kRetries},
    {kSqd, kSqd, kXrcReceive, kNone, kDrained | kPort | kTimeout | kMaxDestRdAtomic | kMinRnrTimer},
    {kSqd, kSqd, kUc, kNone, kDrained},
    {kSqd, kSqd, kUd, kNone, kPKeyIndex | kQKey},
    {kSqd, kSqd, kStream, kNone, kAccess},

    // Reliable queue pairs are never in this state; Linux accepts the transition nevertheless.
    {kSqe, kRts, kReliable, kNone, kNone},
    {kSqe, kRts, kUc, kNone, kCurrentState | kAccess},
    {kSqe, kRts, kUd, kNone, kCurrentState | kQKey},
};

constexpr bool Matches(const Row& row, QpType type, QpState from, QpState to) {
  return row.to == to && row.from.Has(from) && row.types.Has(type);
}

// If two rows matched, their order would matter.
constexpr bool NoTwoRowsMatchTheSame() {
  for (size_t i = 0; i < kQpTypeCount * kQpStateCount * kQpStateCount; ++i) {
    const auto type = static_cast<QpType>(i / kQpStateCount / kQpStateCount);
    const auto from = static_cast<QpState>(i / kQpStateCount % kQpStateCount);
    const auto to = static_cast<QpState>(i % kQpStateCount);
    const auto matches = [&](const Row& row) { return Matches(row, type, from, to); };
    if (std::ranges::count_if(kTransitions, matches) > 1) return false;
  }
  return true;
}
static_assert(NoTwoRowsMatchTheSame());

bool IsState(QpState state) { return static_cast<size_t>(state) < kQpStateCount; }

}  // namespace

std::optional<AttributeError> Validate(const QpSettings& attributes, AttributeMask mask,
                                       const AttributeLimits& limits) {
  const QpSettings& a = attributes;
  const struct {
    QpAttribute attribute;
    bool in_range;
  } checks[] = {
      {kState, IsState(a.state)},
      {kCurrentState, IsState(a.current_state)},
      {kAccess, Access::kAll.Has(a.access)},
      {kPKeyIndex, a.p_key_index <= limits.p_key_index_max},
      {kPort, a.port.value() >= 1 && a.port <= limits.port_max},
      {kPathMtu, a.path_mtu >= PathMtu::k256 && a.path_mtu <= limits.path_mtu_max},
      {kTimeout, a.timeout.value() < wire::kAckTimeoutCodes},
      {kRetryCount, a.retry_count <= kRetryCountMax},
      {kRnrRetry, a.rnr_retry <= kRnrRetryForever},
      {kMaxRdAtomic, a.max_rd_atomic <= limits.max_rd_atomic_max},
      {kMinRnrTimer, a.min_rnr_timer.value() < wire::kRnrTimerCodes},
      {kMaxDestRdAtomic, a.max_dest_rd_atomic <= limits.max_dest_rd_atomic_max},
      {kRemoteQp, a.remote_qp.value() <= wire::kMax24},
  };
  for (const auto& [attribute, in_range] : checks) {
    if (mask.Has(attribute) && !in_range) return AttributeError{attribute};
  }
  return std::nullopt;
}

std::optional<Transition> FindTransition(QpType type, QpState from, QpState to) {
  CHECK(static_cast<size_t>(type) < kQpTypeCount);
  CHECK(IsState(from) && IsState(to));
  const auto* const row = std::ranges::find_if(
      kTransitions, [&](const Row& candidate) { return Matches(candidate, type, from, to); });
  if (row == std::end(kTransitions)) return std::nullopt;
  return Transition{row->required, row->optional};
}

std::optional<TransitionError> CheckTransition(QpType type, QpState from, QpState to,
                                               AttributeMask mask) {
  using Kind = TransitionError::Kind;
  const auto transition = FindTransition(type, from, to);
  if (!transition) return TransitionError{Kind::kNotAllowed, type, from, to, kNone};

  const AttributeMask missing = transition->required.Without(mask);
  if (!missing.empty()) return TransitionError{Kind::kMissing, type, from, to, missing};

  const AttributeMask taken = transition->required | transition->optional | kState;
  const AttributeMask extra = mask.Without(taken);
  if (!extra.empty()) return TransitionError{Kind::kNotApplicable, type, from, to, extra};
  return std::nullopt;
}

const char* NameOf(QpAttribute attribute) {
  const auto* const row = std::ranges::find_if(
      kNames, [&](const auto& candidate) { return candidate.attribute == attribute; });
  return row == std::end(kNames) ? "?" : row->name;
}

std::string ToString(AttributeMask mask) {
  std::string text;
  for (const auto& [attribute, name] : kNames) {
    if (!mask.Has(attribute)) continue;
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text.empty() ? "none" : text;
}

std::string ToString(const AttributeError& error) {
  return std::string(NameOf(error.attribute)) + " is out of range";
}

std::string ToString(const TransitionError& error) {
  const std::string transition =
      std::string(NameOf(error.type)) + ' ' + NameOf(error.from) + " -> " + NameOf(error.to);
  switch (error.kind) {
    case TransitionError::Kind::kNotAllowed:
      return transition + " is not allowed";
    case TransitionError::Kind::kMissing:
      return transition + " needs " + ToString(error.attributes);
    case TransitionError::Kind::kNotApplicable:
      return transition + " does not take " + ToString(error.attributes);
  }
  return transition + ": ?";
}

}  // namespace verbena::transport
