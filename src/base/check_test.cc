#include "base/check.h"

#include <gtest/gtest.h>

namespace verbena {
namespace {

TEST(CheckTest, PassesAndEvaluatesOnce) {
  int evaluations = 0;
  CHECK(++evaluations == 1);
  EXPECT_EQ(evaluations, 1);
}

TEST(CheckDeathTest, NamesTheLineAndTheCondition) {
  const int answer = 41;
  EXPECT_DEATH(CHECK(answer == 42), "check_test\\.cc:[0-9]+: TestBody: CHECK failed: answer == 42");
}

TEST(CheckDeathTest, UnreachableNamesTheLine) {
  EXPECT_DEATH(UNREACHABLE(), "check_test\\.cc:[0-9]+: TestBody: UNREACHABLE reached");
}

TEST(CheckTest, IsAnExpression) {
  const auto checked_half = [](int n) { return CHECK(n % 2 == 0), n / 2; };
  EXPECT_EQ(checked_half(8), 4);
}

constexpr int CheckedHalf(int n) {
  CHECK(n % 2 == 0);
  return n / 2;
}
static_assert(CheckedHalf(8) == 4, "CHECK works in constant expressions");

TEST(CheckTest, DcheckEvaluatesOnlyWhenOn) {
  int evaluations = 0;
  DCHECK(++evaluations == 1);
  EXPECT_EQ(evaluations, VERBENA_DCHECK);
}

#if VERBENA_DCHECK
TEST(CheckDeathTest, DcheckFailsWhenOn) { EXPECT_DEATH(DCHECK(1 > 2), "CHECK failed: 1 > 2"); }
#else
TEST(CheckTest, DcheckCannotFailWhenOff) { DCHECK(1 > 2); }
#endif

}  // namespace
}  // namespace verbena
