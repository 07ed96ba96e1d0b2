#include "memory/access.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace verbena::memory {
namespace {

constexpr AccessKind kAccesses[] = {AccessKind::kLocalRead,   AccessKind::kLocalWrite,
                                    AccessKind::kBind,        AccessKind::kRemoteRead,
                                    AccessKind::kRemoteWrite, AccessKind::kRemoteAtomic,
                                    AccessKind::kTaskSend,    AccessKind::kTaskReceive};

TEST(RightsTest, RightsAreASet) {
  const Access both = Access::kLocalRead | Access::kRemoteWrite;
  EXPECT_TRUE(both.Has(Access::kLocalRead));
  EXPECT_TRUE(both.Has(both));
  EXPECT_FALSE(both.Has(Access::kLocalRead | Access::kLocalWrite));
  EXPECT_TRUE(both.HasAny(Access::kLocalRead | Access::kLocalWrite));
  EXPECT_FALSE(both.HasAny(Access::kRemoteRead));
  EXPECT_EQ(both.Without(Access::kRemoteWrite), Access::kLocalRead);
  EXPECT_EQ(Access::FromBits(both.bits()), both);
}

TEST(RightsTest, EverySetHasNoRight) {
  EXPECT_TRUE(Access().Has(Access::kNone));
  EXPECT_FALSE(Access::kAll.HasAny(Access::kNone));
}

TEST(RightsTest, TheSixRightsAreDistinctAndMakeAll) {
  const Access single[] = {Access::kLocalRead,   Access::kLocalWrite,   Access::kRemoteRead,
                           Access::kRemoteWrite, Access::kRemoteAtomic, Access::kWindowBind};
  Access all;
  for (const Access right : single) {
    EXPECT_FALSE(all.HasAny(right));
    all = all | right;
  }
  EXPECT_EQ(all, Access::kAll);
  EXPECT_EQ(Access::kRemote, Access::kRemoteRead | Access::kRemoteWrite | Access::kRemoteAtomic);
}

// For all 64 sets: remote read needs local read, remote write and atomics need local write, and
// other rights need none.
TEST(RightsTest, AGrantNeedsTheSameLocalRight) {
  for (unsigned bits = 0; bits <= Access::kAll.bits(); ++bits) {
    const Access rights = Access::FromBits(static_cast<uint8_t>(bits));
    const Access needed = NeededToGrant(rights);
    EXPECT_EQ(needed.Has(Access::kLocalRead), rights.Has(Access::kRemoteRead)) << bits;
    EXPECT_EQ(needed.Has(Access::kLocalWrite),
              rights.Has(Access::kRemoteWrite) || rights.Has(Access::kRemoteAtomic))
        << bits;
    EXPECT_EQ(needed.Without(Access::kLocalRead | Access::kLocalWrite), Access::kNone);
  }
}

TEST(AccessTest, EveryAccessHasADistinctName) {
  std::set<std::string> names;
  for (const AccessKind access : kAccesses) names.insert(NameOf(access));
  EXPECT_EQ(names.size(), std::size(kAccesses));
  EXPECT_EQ(names.count("?"), 0u);
}

TEST(AccessTest, LocalAccessNeedsLocalRights) {
  EXPECT_EQ(TraitsOf(AccessKind::kLocalRead).right, Access::kLocalRead);
  EXPECT_EQ(TraitsOf(AccessKind::kLocalWrite).right, Access::kLocalWrite);
  // Binding has its own check: g.
  EXPECT_EQ(TraitsOf(AccessKind::kBind).right, Access::kNone);
  for (const AccessKind access :
       {AccessKind::kLocalRead, AccessKind::kLocalWrite, AccessKind::kBind}) {
    EXPECT_EQ(TraitsOf(access).origin, Origin::kLocal);
  }
}

TEST(AccessTest, RemoteAccessNeedsRemoteRights) {
  EXPECT_EQ(TraitsOf(AccessKind::kRemoteRead).right, Access::kRemoteRead);
  EXPECT_EQ(TraitsOf(AccessKind::kRemoteWrite).right, Access::kRemoteWrite);
  EXPECT_EQ(TraitsOf(AccessKind::kRemoteAtomic).right, Access::kRemoteAtomic);
  for (const AccessKind access :
       {AccessKind::kRemoteRead, AccessKind::kRemoteWrite, AccessKind::kRemoteAtomic}) {
    EXPECT_EQ(TraitsOf(access).origin, Origin::kRemote);
  }
}

// Row B13: R2T reads the initiator's memory, Data-In writes it.
TEST(AccessTest, TasksAreReadByR2tAndWrittenByDataIn) {
  EXPECT_EQ(TraitsOf(AccessKind::kTaskSend).right, Access::kRemoteRead);
  EXPECT_EQ(TraitsOf(AccessKind::kTaskReceive).right, Access::kRemoteWrite);
  EXPECT_EQ(TraitsOf(AccessKind::kTaskSend).origin, Origin::kTask);
  EXPECT_EQ(TraitsOf(AccessKind::kTaskReceive).origin, Origin::kTask);
}

TEST(AccessTest, OnlyAccessesThatChangeBytesWrite) {
  for (const AccessKind access : kAccesses) {
    const bool writes = access == AccessKind::kLocalWrite || access == AccessKind::kRemoteWrite ||
                        access == AccessKind::kRemoteAtomic || access == AccessKind::kTaskReceive;
    EXPECT_EQ(TraitsOf(access).writes, writes) << NameOf(access);
  }
}

}  // namespace
}  // namespace verbena::memory
