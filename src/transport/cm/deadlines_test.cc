#include "transport/cm/deadlines.h"

#include <gtest/gtest.h>

#include "verbena/strong_id.h"

namespace verbena::transport {
namespace {

using Id = StrongId<struct DeadlinesTestTag, int>;

constexpr Time At(int64_t ns) { return Time(Nanoseconds(ns)); }

TEST(DeadlinesTest, TheEarliestIsDueFirst) {
  Deadlines<Id> deadlines;
  EXPECT_EQ(deadlines.next(), Time::Never());
  EXPECT_EQ(deadlines.Due(Time::Never()), std::nullopt);
  deadlines.Move(Id(1), Time::Never(), At(30));
  deadlines.Move(Id(2), Time::Never(), At(10));
  EXPECT_EQ(deadlines.next(), At(10));
  EXPECT_EQ(deadlines.Due(At(9)), std::nullopt);
  EXPECT_EQ(deadlines.Due(At(10)), Id(2));
}

TEST(DeadlinesTest, ADeadlineCanMoveAndBeRemoved) {
  Deadlines<Id> deadlines;
  deadlines.Move(Id(1), Time::Never(), At(30));
  deadlines.Move(Id(2), Time::Never(), At(30));
  deadlines.Move(Id(2), At(30), At(20));
  EXPECT_EQ(deadlines.Due(At(20)), Id(2));
  deadlines.Move(Id(2), At(20), At(40));
  EXPECT_EQ(deadlines.Due(At(40)), Id(1));
  deadlines.Move(Id(1), At(30), At(30));
  deadlines.Move(Id(1), At(30), Time::Never());
  EXPECT_EQ(deadlines.Due(At(40)), Id(2));
  EXPECT_EQ(deadlines.size(), 1u);
}

TEST(DeadlinesDeathTest, AMissingDeadlineCannotMove) {
  Deadlines<Id> deadlines;
  EXPECT_DEATH(deadlines.Move(Id(1), At(1), At(2)), "CHECK failed");
}

}  // namespace
}  // namespace verbena::transport
