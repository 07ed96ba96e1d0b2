#include "memory/access.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace verbena::memory {
namespace {

constexpr Access kAccesses[] = {Access::kLocalRead,  Access::kLocalWrite,  Access::kBind,
                                Access::kRemoteRead, Access::kRemoteWrite, Access::kRemoteAtomic,
                                Access::kTaskSend,   Access::kTaskReceive};

TEST(RightsTest, AreASet) {
  const Rights both = Rights::kLocalRead | Rights::kRemoteWrite;
  EXPECT_TRUE(both.Has(Rights::kLocalRead));
  EXPECT_TRUE(both.Has(both));
  EXPECT_FALSE(both.Has(Rights::kLocalRead | Rights::kLocalWrite));
  EXPECT_TRUE(both.HasAny(Rights::kLocalRead | Rights::kLocalWrite));
  EXPECT_FALSE(both.HasAny(Rights::kRemoteRead));
  EXPECT_EQ(both.Without(Rights::kRemoteWrite), Rights::kLocalRead);
  EXPECT_EQ(Rights::FromBits(both.bits()), both);
}

TEST(RightsTest, NoRightIsHeldByEveryone) {
  EXPECT_TRUE(Rights().Has(Rights::kNone));
  EXPECT_FALSE(Rights::kAll.HasAny(Rights::kNone));
}

TEST(RightsTest, TheSixRightsAreDifferentAndMakeAll) {
  const Rights single[] = {Rights::kLocalRead,   Rights::kLocalWrite,   Rights::kRemoteRead,
                           Rights::kRemoteWrite, Rights::kRemoteAtomic, Rights::kWindowBind};
  Rights all;
  for (const Rights right : single) {
    EXPECT_FALSE(all.HasAny(right));
    all = all | right;
  }
  EXPECT_EQ(all, Rights::kAll);
  EXPECT_EQ(Rights::kRemote, Rights::kRemoteRead | Rights::kRemoteWrite | Rights::kRemoteAtomic);
}

TEST(RightsTest, TextNamesEachRightInOrder) {
  EXPECT_EQ(ToString(Rights::kNone), "none");
  EXPECT_EQ(ToString(Rights::kRemoteWrite | Rights::kLocalRead), "local read, remote write");
  EXPECT_EQ(ToString(Rights::kAll),
            "local read, local write, remote read, remote write, remote atomic, window bind");
}

// Over all 64 sets: remote read needs local read, remote write and atomics need local write, and
// nothing else needs anything.
TEST(RightsTest, NobodyGrantsMoreThanHeHas) {
  for (unsigned bits = 0; bits <= Rights::kAll.bits(); ++bits) {
    const Rights rights = Rights::FromBits(static_cast<uint8_t>(bits));
    const Rights needed = NeededToGrant(rights);
    EXPECT_EQ(needed.Has(Rights::kLocalRead), rights.Has(Rights::kRemoteRead)) << ToString(rights);
    EXPECT_EQ(needed.Has(Rights::kLocalWrite),
              rights.Has(Rights::kRemoteWrite) || rights.Has(Rights::kRemoteAtomic))
        << ToString(rights);
    EXPECT_EQ(needed.Without(Rights::kLocalRead | Rights::kLocalWrite), Rights::kNone);
  }
}

TEST(AccessTest, EveryAccessHasANameOfItsOwn) {
  std::set<std::string> names;
  for (const Access access : kAccesses) names.insert(NameOf(access));
  EXPECT_EQ(names.size(), std::size(kAccesses));
  EXPECT_EQ(names.count("?"), 0u);
}

TEST(AccessTest, LocalAccessNeedsLocalRights) {
  EXPECT_EQ(TraitsOf(Access::kLocalRead).right, Rights::kLocalRead);
  EXPECT_EQ(TraitsOf(Access::kLocalWrite).right, Rights::kLocalWrite);
  // Binding has a check of its own: g.
  EXPECT_EQ(TraitsOf(Access::kBind).right, Rights::kNone);
  for (const Access access : {Access::kLocalRead, Access::kLocalWrite, Access::kBind}) {
    EXPECT_EQ(TraitsOf(access).origin, Origin::kLocal);
  }
}

TEST(AccessTest, RemoteAccessNeedsRemoteRights) {
  EXPECT_EQ(TraitsOf(Access::kRemoteRead).right, Rights::kRemoteRead);
  EXPECT_EQ(TraitsOf(Access::kRemoteWrite).right, Rights::kRemoteWrite);
  EXPECT_EQ(TraitsOf(Access::kRemoteAtomic).right, Rights::kRemoteAtomic);
  for (const Access access : {Access::kRemoteRead, Access::kRemoteWrite, Access::kRemoteAtomic}) {
    EXPECT_EQ(TraitsOf(access).origin, Origin::kRemote);
  }
}

// Row B13: R2T reads the initiator's memory, Data-In writes it.
TEST(AccessTest, TasksAreReadByR2tAndWrittenByDataIn) {
  EXPECT_EQ(TraitsOf(Access::kTaskSend).right, Rights::kRemoteRead);
  EXPECT_EQ(TraitsOf(Access::kTaskReceive).right, Rights::kRemoteWrite);
  EXPECT_EQ(TraitsOf(Access::kTaskSend).origin, Origin::kTask);
  EXPECT_EQ(TraitsOf(Access::kTaskReceive).origin, Origin::kTask);
}

TEST(AccessTest, OnlyWhatChangesBytesWrites) {
  for (const Access access : kAccesses) {
    const bool writes = access == Access::kLocalWrite || access == Access::kRemoteWrite ||
                        access == Access::kRemoteAtomic || access == Access::kTaskReceive;
    EXPECT_EQ(TraitsOf(access).writes, writes) << NameOf(access);
  }
}

}  // namespace
}  // namespace verbena::memory
