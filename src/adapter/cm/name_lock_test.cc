#include "adapter/cm/name_lock.h"

#include <cerrno>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/port_processes.h"

namespace verbena::adapter {
namespace {

using enum LockMode;

constexpr LockMode kAll[] = {kIntentShared, kIntentExclusive, kShared, kExclusive};

std::string TestName() { return "verbena/test/" + std::to_string(kTestBasePort) + "/lock"; }

Result<NameLock, LockFailure> Acquire(LockMode mode, const NameLock* own = nullptr) {
  static Random random(1);
  return NameLock::Acquire(TestName(), mode, random, NameLock::kTries, own);
}

TEST(NameLock, ModesAreCompatibleAsInATwoLevelLock) {
  constexpr bool kCompatible[4][4] = {{true, true, true, false},
                                      {true, true, false, false},
                                      {true, false, true, false},
                                      {false, false, false, false}};
  for (const LockMode a : kAll) {
    for (const LockMode b : kAll) {
      const bool expected = kCompatible[static_cast<size_t>(a)][static_cast<size_t>(b)];
      EXPECT_EQ(AreCompatible(a, b), expected);
      const auto first = Acquire(a);
      ASSERT_TRUE(first.has_value()) << first.error().error.text;
      const auto second = Acquire(b);
      EXPECT_EQ(second.has_value(), expected) << static_cast<int>(a) << static_cast<int>(b);
      if (!second) {
        EXPECT_EQ(second.error().held, a);
      }
    }
  }
}

TEST(NameLock, TheLockOfAProcessIsFreeAfterItsDeath) {
  auto lock = Acquire(kShared);
  ASSERT_TRUE(lock.has_value());
  EXPECT_TRUE(IsTrueInChild([] { return !Acquire(kExclusive) && Acquire(kShared).has_value(); }));
  lock = Fail(LockFailure{});
  EXPECT_TRUE(IsTrueInChild([] { return Acquire(kExclusive).has_value(); }));
  EXPECT_TRUE(Acquire(kExclusive).has_value()) << "the child has ended";
}

TEST(NameLock, AStrongerLockReplacesAnOwnOne) {
  auto lock = Acquire(kShared);
  ASSERT_TRUE(lock.has_value());
  EXPECT_FALSE(Acquire(kExclusive).has_value());
  {
    const auto other = Acquire(kShared);
    const auto refused = Acquire(kExclusive, &*lock);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().held, kShared);
  }
  lock = Acquire(kExclusive, &*lock);
  ASSERT_TRUE(lock.has_value());
  EXPECT_EQ(Acquire(kShared).error().held, kExclusive);
}

TEST(NameLock, SharersHaveALimit) {
  std::vector<NameLock> locks;
  for (int i = 0; i < NameLock::kSharersMax; ++i) {
    auto lock = Acquire(kShared);
    ASSERT_TRUE(lock.has_value());
    locks.push_back(std::move(*lock));
  }
  EXPECT_EQ(Acquire(kShared).error().held, kShared);
  locks.pop_back();
  EXPECT_TRUE(Acquire(kShared).has_value());
}

TEST(NameLock, SystemErrorsAreReported) {
  EXPECT_TRUE(IsTrueInChild([] {
    std::vector<FileDescriptor> files;
    while (files.emplace_back(dup(0)).is_open()) {
    }
    const auto lock = Acquire(kShared);
    return !lock && !lock.error().held && lock.error().error.os_error == EMFILE;
  }));
}

}  // namespace
}  // namespace verbena::adapter
