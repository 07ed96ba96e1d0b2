#include <set>
#include <string>

#include <gtest/gtest.h>

#include "verbena/verbena.h"

namespace verbena {
namespace {

// All values of an enum up to `last` have different names.
template <class Enum>
void ExpectNames(Enum last) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(last); ++i) names.insert(NameOf(static_cast<Enum>(i)));
  EXPECT_EQ(names.size(), static_cast<size_t>(last) + 1);
  EXPECT_EQ(names.count(""), 0U);
}

TEST(NamesTest, EveryValueHasADistinctName) {
  ExpectNames(ErrorCode::kOverflow);
  ExpectNames(CompletionStatus::kTagMatchingIncomplete);
  ExpectNames(QpState::kErr);
  ExpectNames(QpType::kXrcReceive);
  ExpectNames(AsyncEventType::kSrqLimitReached);
  ExpectNames(Drop::kNoMember);
  ExpectNames(SendDrop::kOther);
}

TEST(NamesTest, HaveTheExpectedNames) {
  EXPECT_STREQ(NameOf(ErrorCode::kInUse), "in use");
  EXPECT_STREQ(NameOf(ErrorCode::kOverflow), "overflow");
  EXPECT_STREQ(NameOf(QpState::kRtr), "RTR");
  EXPECT_STREQ(NameOf(QpType::kUd), "UD");
  EXPECT_STREQ(NameOf(SendDrop::kTooLong), "too long");
  EXPECT_STRNE(NameOf(CompletionOpcode::kReceive), NameOf(CompletionOpcode::kSend));
}

}  // namespace
}  // namespace verbena
