#include "base/result.h"

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace verbena {
namespace {

enum class Reason { kOdd, kNegative };

[[nodiscard]] Result<int, Reason> Half(int n) {
  if (n < 0) return Fail(Reason::kNegative);
  if (n % 2 != 0) return Fail(Reason::kOdd);
  return n / 2;
}

[[nodiscard]] Result<void, Reason> RequireEven(int n) {
  const Result<int, Reason> half = Half(n);
  if (!half) return Fail(half.error());
  return {};
}

TEST(ResultTest, HoldsTheValue) {
  const Result<int, Reason> half = Half(8);
  ASSERT_TRUE(half.has_value());
  EXPECT_EQ(*half, 4);
}

TEST(ResultTest, HoldsTheReason) {
  EXPECT_EQ(Half(-1).error(), Reason::kNegative);
  EXPECT_EQ(Half(3).error(), Reason::kOdd);
}

TEST(ResultTest, PassesAReasonOn) {
  EXPECT_TRUE(RequireEven(2).has_value());
  EXPECT_EQ(RequireEven(5).error(), Reason::kOdd);
}

TEST(ResultTest, FailMovesItsArgument) {
  Result<int, std::unique_ptr<std::string>> result = Fail(std::make_unique<std::string>("why"));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(*result.error(), "why");
}

TEST(ResultTest, FailCopiesAnLvalue) {
  const std::string reason = "why";
  const Result<int, std::string> result = Fail(reason);
  EXPECT_EQ(result.error(), reason);
}

}  // namespace
}  // namespace verbena
