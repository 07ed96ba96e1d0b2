#include "base/time.h"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace verbena {
namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
constexpr Duration kMin(kLowest);
constexpr Duration kMax = Duration::Max();

TEST(DurationTest, UnitsAgree) {
  EXPECT_EQ(Seconds(1), Milliseconds(1000));
  EXPECT_EQ(Milliseconds(1), Microseconds(1000));
  EXPECT_EQ(Microseconds(1), Nanoseconds(1000));
  EXPECT_EQ(Nanoseconds(-5).nanoseconds(), -5);
  EXPECT_EQ(Duration(), Nanoseconds(0));
  EXPECT_LT(Milliseconds(-1), Nanoseconds(1));
}

TEST(DurationTest, UnitsSaturate) {
  EXPECT_EQ(Seconds(kHighest), kMax);
  EXPECT_EQ(Microseconds(kLowest), kMin);
}

TEST(DurationTest, AddsAndSubtracts) {
  EXPECT_EQ(Seconds(1) + Milliseconds(500), Milliseconds(1500));
  EXPECT_EQ(Seconds(1) - Milliseconds(1500), Milliseconds(-500));
  EXPECT_EQ(-Seconds(2), Seconds(-2));
  Duration d = Seconds(1);
  d += Seconds(2);
  d -= Seconds(4);
  EXPECT_EQ(d, Seconds(-1));
}

TEST(DurationTest, SumsSaturate) {
  EXPECT_EQ(kMax + Nanoseconds(1), kMax);
  EXPECT_EQ(kMax + kMax, kMax);
  EXPECT_EQ(kMin + Nanoseconds(-1), kMin);
  EXPECT_EQ(kMax - Nanoseconds(-1), kMax);
  EXPECT_EQ(kMin - Nanoseconds(1), kMin);
  EXPECT_EQ(kMin - kMax, kMin);
  EXPECT_EQ(-kMin, kMax);
}

TEST(DurationTest, MultipliesAndDivides) {
  EXPECT_EQ(Milliseconds(3) * 4, Milliseconds(12));
  EXPECT_EQ(-4 * Milliseconds(3), Milliseconds(-12));
  EXPECT_EQ(Milliseconds(9) / 2, Microseconds(4500));
  EXPECT_EQ(Nanoseconds(-7) / 2, Nanoseconds(-3));
}

TEST(DurationTest, ProductsSaturateWithTheirSign) {
  EXPECT_EQ(Seconds(1'000'000) * kHighest, kMax);
  EXPECT_EQ(Seconds(1'000'000) * kLowest, kMin);
  EXPECT_EQ(Seconds(-1'000'000) * kHighest, kMin);
  EXPECT_EQ(Seconds(-1'000'000) * kLowest, kMax);
  EXPECT_EQ(kMin * -1, kMax);
  EXPECT_EQ(kMin / -1, kMax);
}

TEST(DurationDeathTest, RefusesDivisionByZero) {
  EXPECT_DEATH(static_cast<void>(Seconds(1) / 0), "CHECK failed: divisor != 0");
}

TEST(TimeTest, MovesByDurations) {
  const Time start(Seconds(10));
  EXPECT_EQ(start + Seconds(5), Time(Seconds(15)));
  EXPECT_EQ(start - Seconds(5), Time(Seconds(5)));
  EXPECT_EQ(Time(Seconds(15)) - start, Seconds(5));
  EXPECT_EQ(start - Time(Seconds(15)), Seconds(-5));
  EXPECT_EQ(Time().since_origin(), Duration());
  Time t = start;
  t += Seconds(2);
  t -= Seconds(1);
  EXPECT_EQ(t.nanoseconds(), 11'000'000'000);
}

TEST(TimeTest, NeverIsLastAndStays) {
  EXPECT_LT(Time(Seconds(1'000'000'000)), Time::Never());
  EXPECT_EQ(Time::Never() + Seconds(1), Time::Never());
  EXPECT_EQ(Time::Never() - Seconds(1), Time::Never());
  EXPECT_EQ(Time::Never() + Seconds(-1), Time::Never());
}

TEST(TimeTest, WithoutEndLeadsToNeverAndBack) {
  EXPECT_EQ(Time(Seconds(3)) + kMax, Time::Never());
  EXPECT_EQ(Time(Seconds(-3)) + kMax, Time::Never());
  EXPECT_EQ(Time::Never() - Time(Seconds(3)), kMax);
  EXPECT_EQ(Time::Never() - Time::Never(), Duration());
}

TEST(TimeTest, Saturates) {
  EXPECT_EQ(Time(Seconds(3)) + (kMax - Seconds(1)), Time::Never());
  EXPECT_EQ(Time(Seconds(-3)) - kMax, Time(kMin));
  EXPECT_EQ(Time(kMin) - Time(Seconds(3)), kMin);
}

static_assert(Time(Seconds(1)) + Seconds(1) == Time(Seconds(2)), "works when compiling");

TEST(DurationToStringTest, PicksTheLargestUnitWithAWholePart) {
  EXPECT_EQ(ToString(Duration()), "0 ns");
  EXPECT_EQ(ToString(Nanoseconds(999)), "999 ns");
  EXPECT_EQ(ToString(Microseconds(1)), "1 us");
  EXPECT_EQ(ToString(Microseconds(1500)), "1.5 ms");
  EXPECT_EQ(ToString(Seconds(90)), "90 s");
}

TEST(DurationToStringTest, CutsAtThreeDecimals) {
  EXPECT_EQ(ToString(Nanoseconds(1'234'567)), "1.234 ms");
  EXPECT_EQ(ToString(Nanoseconds(1'050'000)), "1.05 ms");
  EXPECT_EQ(ToString(Nanoseconds(1'007'000)), "1.007 ms");
  EXPECT_EQ(ToString(Nanoseconds(1'000'999)), "1 ms");
  EXPECT_EQ(ToString(Nanoseconds(999'999'999)), "999.999 ms");
}

TEST(DurationToStringTest, NegativeAndExtreme) {
  EXPECT_EQ(ToString(Microseconds(-2500)), "-2.5 ms");
  EXPECT_EQ(ToString(kMax), "9223372036.854 s");
  EXPECT_EQ(ToString(kMin), "-9223372036.854 s");
}

}  // namespace
}  // namespace verbena
