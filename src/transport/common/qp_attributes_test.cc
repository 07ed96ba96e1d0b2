#include "transport/common/qp_attributes.h"

#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

using Kind = TransitionError::Kind;

// In the order of the verbs, whose 22 attributes have bits 0 to 20, and 25.
constexpr const char* kVerbsNames[] = {
    "STATE",
    "CUR_STATE",
    "EN_SQD_ASYNC_NOTIFY",
    "ACCESS_FLAGS",
    "PKEY_INDEX",
    "PORT",
    "QKEY",
    "AV",
    "PATH_MTU",
    "TIMEOUT",
    "RETRY_CNT",
    "RNR_RETRY",
    "RQ_PSN",
    "MAX_QP_RD_ATOMIC",
    "ALT_PATH",
    "MIN_RNR_TIMER",
    "SQ_PSN",
    "MAX_DEST_RD_ATOMIC",
    "PATH_MIG_STATE",
    "CAP",
    "DEST_QPN",
    "RATE_LIMIT",
};

std::vector<QpAttribute> AllAttributes() {
  std::vector<QpAttribute> all;
  for (uint32_t bit = 0; bit <= 20; ++bit) all.push_back(static_cast<QpAttribute>(1U << bit));
  all.push_back(static_cast<QpAttribute>(1U << 25));
  return all;
}

TEST(QpAttributeTest, BitsAndNamesAreThoseOfTheVerbs) {
  const auto all = AllAttributes();
  ASSERT_EQ(all.size(), std::size(kVerbsNames));
  for (size_t i = 0; i < all.size(); ++i) EXPECT_STREQ(NameOf(all[i]), kVerbsNames[i]);
  EXPECT_STREQ(NameOf(static_cast<QpAttribute>(1U << 21)), "?");
  EXPECT_STREQ(NameOf(static_cast<QpAttribute>(0)), "?");
}

TEST(AttributeMaskTest, IsASet) {
  const AttributeMask both = QpAttribute::kPort | QpAttribute::kQKey;
  EXPECT_TRUE(both.Has(QpAttribute::kPort));
  EXPECT_TRUE(both.Has(both));
  EXPECT_FALSE(both.Has(QpAttribute::kPath));
  EXPECT_FALSE(both.Has(QpAttribute::kPort | QpAttribute::kPath));
  EXPECT_EQ(both.Without(QpAttribute::kPort), AttributeMask(QpAttribute::kQKey));
  EXPECT_EQ(both.Without(QpAttribute::kPath), both);
  EXPECT_TRUE(both.Without(both).empty());
  EXPECT_TRUE(AttributeMask().empty());
}

TEST(AttributeMaskTest, TakesOnlyTheBitsOfAttributes) {
  for (uint32_t bit = 0; bit < 32; ++bit) {
    const auto mask = AttributeMask::FromBits(1U << bit);
    EXPECT_EQ(mask.has_value(), bit <= 20 || bit == 25) << bit;
    if (!mask) continue;
    EXPECT_EQ(mask->bits(), 1U << bit);
  }
  EXPECT_EQ(AttributeMask::FromBits(0), AttributeMask());
  EXPECT_EQ(AttributeMask::FromBits(~0U), std::nullopt);
}

TEST(AttributeMaskTest, AllContainsEachAttribute) {
  AttributeMask all;
  for (const QpAttribute attribute : AllAttributes()) all = all | attribute;
  EXPECT_EQ(all, AttributeMask::kAll);
}

TEST(AttributeMaskTest, TextNamesEachInOrder) {
  EXPECT_EQ(ToString(AttributeMask()), "none");
  EXPECT_EQ(ToString(QpAttribute::kQKey | QpAttribute::kPort), "PORT, QKEY");
}

TEST(PathMtuTest, HasBytes) {
  EXPECT_EQ(BytesOf(PathMtu::k256), 256U);
  EXPECT_EQ(BytesOf(PathMtu::k512), 512U);
  EXPECT_EQ(BytesOf(PathMtu::k1024), 1024U);
  EXPECT_EQ(BytesOf(PathMtu::k2048), 2048U);
  EXPECT_EQ(BytesOf(PathMtu::k4096), 4096U);
  EXPECT_EQ(static_cast<int>(PathMtu::k4096), 5);
}

struct Range {
  QpAttribute attribute;
  std::function<void(QpSettings&, uint32_t)> set;
  uint32_t min;
  uint32_t max;
};

template <class T>
auto Setter(T QpSettings::*field) {
  return [field](QpSettings& a, uint32_t value) {
    if constexpr (std::is_enum_v<T>) {
      a.*field = static_cast<T>(value);
    } else {
      a.*field = T(static_cast<typename T::ValueType>(value));
    }
  };
}

const std::vector<Range>& Ranges() {
  static const std::vector<Range> ranges = {
      {QpAttribute::kState, Setter(&QpSettings::state), 0, 6},
      {QpAttribute::kCurrentState, Setter(&QpSettings::current_state), 0, 6},
      {QpAttribute::kAccess,
       [](auto& a, uint32_t v) { a.access = Access::FromBits(static_cast<uint8_t>(v)); }, 0, 63},
      {QpAttribute::kPKeyIndex, Setter(&QpSettings::p_key_index), 0, 99},
      {QpAttribute::kPort, Setter(&QpSettings::port), 1, 2},
      {QpAttribute::kPathMtu, Setter(&QpSettings::path_mtu), 1, 4},
      {QpAttribute::kTimeout, Setter(&QpSettings::timeout), 0, 31},
      {QpAttribute::kRetryCount, Setter(&QpSettings::retry_count), 0, 7},
      {QpAttribute::kRnrRetry, Setter(&QpSettings::rnr_retry), 0, 7},
      {QpAttribute::kMaxRdAtomic, Setter(&QpSettings::max_rd_atomic), 0, 16},
      {QpAttribute::kMinRnrTimer, Setter(&QpSettings::min_rnr_timer), 0, 31},
      {QpAttribute::kMaxDestRdAtomic, Setter(&QpSettings::max_dest_rd_atomic), 0, 32},
      {QpAttribute::kRemoteQp, Setter(&QpSettings::remote_qp), 0, 0xFFFFFF},
  };
  return ranges;
}

constexpr AttributeLimits kLimits = {PortNumber(2), PKeyIndex(99), PathMtu::k2048,
                                     RdAtomicDepth(16), RdAtomicDepth(32)};

TEST(ValidateTest, AcceptsBothEndsOfEachRange) {
  for (const Range& range : Ranges()) {
    for (const uint32_t value : {range.min, range.max}) {
      QpSettings attributes;
      range.set(attributes, value);
      EXPECT_EQ(Validate(attributes, AttributeMask::kAll, kLimits), std::nullopt)
          << NameOf(range.attribute) << " = " << value;
    }
  }
}

TEST(ValidateTest, NamesTheAttributeThatIsOutOfRange) {
  for (const Range& range : Ranges()) {
    std::vector<uint32_t> outside = {range.max + 1};
    if (range.min > 0) outside.push_back(range.min - 1);
    for (const uint32_t value : outside) {
      QpSettings attributes;
      range.set(attributes, value);
      EXPECT_EQ(Validate(attributes, AttributeMask::kAll, kLimits), AttributeError{range.attribute})
          << NameOf(range.attribute) << " = " << value;
    }
  }
}

TEST(ValidateTest, ChecksOnlyTheAttributesOfTheMask) {
  for (const Range& range : Ranges()) {
    QpSettings attributes;
    range.set(attributes, range.max + 1);
    const AttributeMask others = AttributeMask::kAll.Without(range.attribute);
    EXPECT_EQ(Validate(attributes, others, kLimits), std::nullopt) << NameOf(range.attribute);
    EXPECT_EQ(Validate(attributes, range.attribute, kLimits), AttributeError{range.attribute});
  }
}

TEST(ValidateTest, WithoutAnAdapterTheLimitsAreThoseOfTheSpecification) {
  QpSettings attributes;
  attributes.port = PortNumber(254);
  attributes.p_key_index = PKeyIndex(0xFFFF);
  attributes.path_mtu = PathMtu::k4096;
  attributes.max_rd_atomic = RdAtomicDepth(255);
  attributes.max_dest_rd_atomic = RdAtomicDepth(255);
  EXPECT_EQ(Validate(attributes, AttributeMask::kAll), std::nullopt);

  attributes.port = PortNumber(255);  // means all ports
  EXPECT_EQ(Validate(attributes, AttributeMask::kAll), AttributeError{QpAttribute::kPort});
  attributes.port = PortNumber(1);
  attributes.path_mtu = static_cast<PathMtu>(6);
  EXPECT_EQ(Validate(attributes, AttributeMask::kAll), AttributeError{QpAttribute::kPathMtu});
}

TEST(ValidateTest, TextNamesTheAttribute) {
  EXPECT_EQ(ToString(AttributeError{QpAttribute::kTimeout}), "TIMEOUT is out of range");
}

// The table a second time, by type and with the names of the verbs:
//   type from to : required : optional
// An indented line continues the one above.
// In addition every type may go from every state to RESET and ERR, without attributes.
constexpr const char* kFacts = R"(
RC RESET INIT : PKEY_INDEX PORT ACCESS_FLAGS :
RC INIT INIT : : PKEY_INDEX PORT ACCESS_FLAGS
RC INIT RTR : AV PATH_MTU DEST_QPN RQ_PSN MAX_DEST_RD_ATOMIC MIN_RNR_TIMER : ALT_PATH
  ACCESS_FLAGS PKEY_INDEX
RC RTR RTS : TIMEOUT RETRY_CNT RNR_RETRY SQ_PSN MAX_QP_RD_ATOMIC : CUR_STATE ALT_PATH
  ACCESS_FLAGS MIN_RNR_TIMER PATH_MIG_STATE
RC RTS RTS : : CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE MIN_RNR_TIMER
RC RTS SQD : : EN_SQD_ASYNC_NOTIFY
RC SQD RTS : : CUR_STATE ALT_PATH ACCESS_FLAGS MIN_RNR_TIMER PATH_MIG_STATE
RC SQD SQD : : PORT AV TIMEOUT RETRY_CNT RNR_RETRY MAX_QP_RD_ATOMIC MAX_DEST_RD_ATOMIC ALT_PATH
  ACCESS_FLAGS PKEY_INDEX MIN_RNR_TIMER PATH_MIG_STATE
RC SQE RTS : :
UC RESET INIT : PKEY_INDEX PORT ACCESS_FLAGS :
UC INIT INIT : : PKEY_INDEX PORT ACCESS_FLAGS
UC INIT RTR : AV PATH_MTU DEST_QPN RQ_PSN : ALT_PATH ACCESS_FLAGS PKEY_INDEX
UC RTR RTS : SQ_PSN : CUR_STATE ALT_PATH ACCESS_FLAGS PATH_MIG_STATE
UC RTS RTS : : CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE
UC RTS SQD : : EN_SQD_ASYNC_NOTIFY
UC SQD RTS : : CUR_STATE ALT_PATH ACCESS_FLAGS PATH_MIG_STATE
UC SQD SQD : : AV ALT_PATH ACCESS_FLAGS PKEY_INDEX PATH_MIG_STATE
UC SQE RTS : : CUR_STATE ACCESS_FLAGS
UD RESET INIT : PKEY_INDEX PORT QKEY :
UD INIT INIT : : PKEY_INDEX PORT QKEY
UD INIT RTR : : PKEY_INDEX QKEY
UD RTR RTS : SQ_PSN : CUR_STATE QKEY
UD RTS RTS : : CUR_STATE QKEY
UD RTS SQD : : EN_SQD_ASYNC_NOTIFY
UD SQD RTS : : CUR_STATE QKEY
UD SQD SQD : : PKEY_INDEX QKEY
UD SQE RTS : : CUR_STATE QKEY
XRC_SEND RESET INIT : PKEY_INDEX PORT ACCESS_FLAGS :
XRC_SEND INIT INIT : : PKEY_INDEX PORT ACCESS_FLAGS
XRC_SEND INIT RTR : AV PATH_MTU DEST_QPN RQ_PSN : ALT_PATH ACCESS_FLAGS PKEY_INDEX
XRC_SEND RTR RTS : TIMEOUT RETRY_CNT RNR_RETRY SQ_PSN MAX_QP_RD_ATOMIC : CUR_STATE ALT_PATH
  ACCESS_FLAGS PATH_MIG_STATE
XRC_SEND RTS RTS : : CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE
XRC_SEND RTS SQD : : EN_SQD_ASYNC_NOTIFY
XRC_SEND SQD RTS : : CUR_STATE ALT_PATH ACCESS_FLAGS PATH_MIG_STATE
XRC_SEND SQD SQD : : PORT AV TIMEOUT RETRY_CNT RNR_RETRY MAX_QP_RD_ATOMIC ALT_PATH ACCESS_FLAGS
  PKEY_INDEX PATH_MIG_STATE
XRC_SEND SQE RTS : :
XRC_RECV RESET INIT : PKEY_INDEX PORT ACCESS_FLAGS :
XRC_RECV INIT INIT : : PKEY_INDEX PORT ACCESS_FLAGS
XRC_RECV INIT RTR : AV PATH_MTU DEST_QPN RQ_PSN MAX_DEST_RD_ATOMIC MIN_RNR_TIMER : ALT_PATH
  ACCESS_FLAGS PKEY_INDEX
XRC_RECV RTR RTS : TIMEOUT SQ_PSN : CUR_STATE ALT_PATH ACCESS_FLAGS MIN_RNR_TIMER PATH_MIG_STATE
XRC_RECV RTS RTS : : CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE MIN_RNR_TIMER
XRC_RECV RTS SQD : : EN_SQD_ASYNC_NOTIFY
XRC_RECV SQD RTS : : CUR_STATE ALT_PATH ACCESS_FLAGS MIN_RNR_TIMER PATH_MIG_STATE
XRC_RECV SQD SQD : : PORT AV TIMEOUT MAX_DEST_RD_ATOMIC ALT_PATH ACCESS_FLAGS PKEY_INDEX
  MIN_RNR_TIMER PATH_MIG_STATE
XRC_RECV SQE RTS : :
STREAM RESET INIT : PKEY_INDEX PORT ACCESS_FLAGS :
STREAM INIT INIT : : PKEY_INDEX PORT ACCESS_FLAGS
STREAM RTS RTS : : CUR_STATE ACCESS_FLAGS
STREAM RTS SQD : : EN_SQD_ASYNC_NOTIFY
STREAM SQD RTS : : CUR_STATE ACCESS_FLAGS
STREAM SQD SQD : : ACCESS_FLAGS
STREAM SQE RTS : :
)";

struct Pair {
  QpType type;
  QpState from;
  QpState to;
  std::string text;  // "RC RESET INIT"
};

std::vector<Pair> AllPairs() {
  std::vector<Pair> pairs;
  for (size_t type = 0; type < kQpTypeCount; ++type) {
    for (size_t from = 0; from < kQpStateCount; ++from) {
      for (size_t to = 0; to < kQpStateCount; ++to) {
        Pair pair{static_cast<QpType>(type), static_cast<QpState>(from), static_cast<QpState>(to),
                  ""};
        pair.text =
            std::string(NameOf(pair.type)) + ' ' + NameOf(pair.from) + ' ' + NameOf(pair.to);
        pairs.push_back(pair);
      }
    }
  }
  return pairs;
}

AttributeMask ParseMask(const std::string& names) {
  AttributeMask mask;
  std::istringstream words(names);
  for (std::string word; words >> word;) {
    const auto before = mask;
    for (const QpAttribute attribute : AllAttributes()) {
      if (word == NameOf(attribute)) mask = mask | attribute;
    }
    EXPECT_NE(mask, before) << word << " is no attribute, or twice there";
  }
  return mask;
}

std::map<std::string, Transition> ParseFacts() {
  std::map<std::string, Transition> facts;
  std::istringstream lines(std::regex_replace(kFacts, std::regex("\\n  "), " "));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    const size_t first = line.find(" :");
    const size_t second = line.find(" :", first + 2);
    facts[line.substr(0, first)] = {ParseMask(line.substr(first + 2, second - first - 2)),
                                    ParseMask(line.substr(second + 2))};
  }
  for (const Pair& pair : AllPairs()) {
    if (pair.to == QpState::kReset || pair.to == QpState::kErr) facts[pair.text] = {};
  }
  return facts;
}

TEST(TransitionTest, EveryTransitionIsAsInTheTable) {
  const auto facts = ParseFacts();
  // A stream has no RTR.
  EXPECT_EQ(facts.size(), kQpTypeCount * (9 + 2 * kQpStateCount) - 2);
  for (const Pair& pair : AllPairs()) {
    const auto transition = FindTransition(pair.type, pair.from, pair.to);
    const auto fact = facts.find(pair.text);
    ASSERT_EQ(transition.has_value(), fact != facts.end()) << pair.text;
    if (!transition) continue;
    EXPECT_EQ(ToString(transition->required), ToString(fact->second.required)) << pair.text;
    EXPECT_EQ(ToString(transition->optional), ToString(fact->second.optional)) << pair.text;
  }
}

TEST(TransitionTest, AForbiddenTransitionIsRefusedWithAnyAttributes) {
  const auto facts = ParseFacts();
  for (const Pair& pair : AllPairs()) {
    if (facts.contains(pair.text)) continue;
    for (const AttributeMask mask : {AttributeMask(), AttributeMask::kAll}) {
      EXPECT_EQ(CheckTransition(pair.type, pair.from, pair.to, mask),
                (TransitionError{Kind::kNotAllowed, pair.type, pair.from, pair.to, {}}))
          << pair.text;
    }
  }
}

// For every attribute, one more or one less than required.
TEST(TransitionTest, EachAttributeIsRequiredAcceptedOrRefused) {
  const auto facts = ParseFacts();
  for (const Pair& pair : AllPairs()) {
    if (!facts.contains(pair.text)) continue;
    const std::string& text = pair.text;
    const Transition& fact = facts.at(text);
    const auto check = [&](AttributeMask mask) {
      return CheckTransition(pair.type, pair.from, pair.to, mask);
    };
    const auto error = [&](Kind kind, AttributeMask attributes) {
      return TransitionError{kind, pair.type, pair.from, pair.to, attributes};
    };
    EXPECT_EQ(check(fact.required), std::nullopt) << text;
    EXPECT_EQ(check(fact.required | fact.optional | QpAttribute::kState), std::nullopt) << text;
    for (const QpAttribute attribute : AllAttributes()) {
      if (fact.required.Has(attribute)) {
        EXPECT_EQ(check(fact.required.Without(attribute)), error(Kind::kMissing, attribute))
            << text << ": " << NameOf(attribute);
      } else if (fact.optional.Has(attribute) || attribute == QpAttribute::kState) {
        EXPECT_EQ(check(fact.required | attribute), std::nullopt)
            << text << ": " << NameOf(attribute);
      } else {
        EXPECT_EQ(check(fact.required | attribute), error(Kind::kNotApplicable, attribute))
            << text << ": " << NameOf(attribute);
      }
    }
  }
}

std::string TextOf(QpType type, QpState from, QpState to, AttributeMask mask) {
  const auto error = CheckTransition(type, from, to, mask);
  return error ? ToString(*error) : "fine";
}

TEST(TransitionTest, TextNamesTheTransitionAndTheAttributes) {
  using enum QpAttribute;
  const auto reset_to_init = [](AttributeMask mask) {
    return TextOf(QpType::kRc, QpState::kReset, QpState::kInit, mask);
  };
  EXPECT_EQ(reset_to_init(kPKeyIndex | kAccess), "RC RESET -> INIT needs PORT");
  EXPECT_EQ(reset_to_init(kAccess), "RC RESET -> INIT needs PKEY_INDEX, PORT");
  EXPECT_EQ(reset_to_init(kPKeyIndex | kAccess | kPort | kQKey),
            "RC RESET -> INIT does not take QKEY");
  EXPECT_EQ(reset_to_init(kPKeyIndex | kAccess | kPort), "fine");
  EXPECT_EQ(TextOf(QpType::kUd, QpState::kReset, QpState::kRts, {}),
            "UD RESET -> RTS is not allowed");
}

TEST(TransitionTest, AMissingAttributeIsReportedBeforeAnExcessOne) {
  EXPECT_EQ(TextOf(QpType::kUd, QpState::kRtr, QpState::kRts, QpAttribute::kPort),
            "UD RTR -> RTS needs SQ_PSN");
}

}  // namespace
}  // namespace verbena::transport
