#include "memory/protection/iscsi_tasks.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/support/memory_fixture.h"

namespace verbena::memory {
namespace {

class IscsiTasksTest : public MemoryFixture {
 protected:
  explicit IscsiTasksTest(const MemoryOptions& options = {}) : MemoryFixture(options) {}

  PageListBacking list() const { return {pages_, 0x100, kSmall}; }
  TaskSpec Spec(bool reads) const {
    return {.pd = pd_, .length = kPage, .reads = reads, .command = 4711};
  }
  void ExpectRefused(const TaskSpec& spec, const PageListBacking& backing, MemoryError error) {
    ExpectUnchanged([&] { EXPECT_TRUE(FailsWith(core_.tasks.Begin(spec, backing), error)); });
  }

  const std::vector<PhysicalAddress> pages_ = Pages({0x5000, 0x9000});
};

TEST_F(IscsiTasksTest, DataInIsPlacedFromOffsetZeroOfADiskRead) {
  const Key task = *core_.tasks.Begin(Spec(true), list());
  EXPECT_EQ(PiecesOf(Translate(task, 0, kPage, AccessKind::kTaskReceive)),
            (Pieces{{0x5100, 0xf00}, {0x9000, 0x100}}));
  EXPECT_TRUE(IsRefused(Translate(task, 1, kPage, AccessKind::kTaskReceive), Refusal::kOutOfRange));
  EXPECT_TRUE(IsRefused(Translate(task, 0, 8, AccessKind::kTaskSend), Refusal::kWrongCommand));
}

TEST_F(IscsiTasksTest, R2tFetchesFromADiskWrite) {
  const Key task = *core_.tasks.Begin(Spec(false), list());
  EXPECT_EQ(PiecesOf(Translate(task, 0xf00, 8, AccessKind::kTaskSend)), (Pieces{{0x9000, 8}}));
  EXPECT_TRUE(IsRefused(Translate(task, 0, 8, AccessKind::kTaskReceive), Refusal::kWrongCommand));
}

TEST_F(IscsiTasksTest, TheTargetHasOnlyTheGrantedRights) {
  TaskSpec spec = Spec(true);
  spec.rights = Access::kRemoteRead;
  const Key task = *core_.tasks.Begin(spec, list());
  EXPECT_TRUE(IsRefused(Translate(task, 0, 8, AccessKind::kTaskReceive), Refusal::kNoRight));
  EXPECT_TRUE(IsRefused(Translate(task, 0, 8, AccessKind::kTaskSend), Refusal::kWrongCommand));
}

TEST_F(IscsiTasksTest, OnlyMessagesOfTheProtocolReachATask) {
  const Key task = *core_.tasks.Begin(Spec(true), list());
  for (const AccessKind access :
       {AccessKind::kLocalRead, AccessKind::kLocalWrite, AccessKind::kBind, AccessKind::kRemoteRead,
        AccessKind::kRemoteWrite}) {
    EXPECT_TRUE(IsRefused(Translate(task, 0, 8, access), Refusal::kWrongType)) << NameOf(access);
  }
  EXPECT_TRUE(FailsWith(core_.Invalidate(task, Origin::kRemote, me_), Refusal::kWrongType));
}

TEST_F(IscsiTasksTest, TheResponseEndsTheTaskAndNamesTheCommand) {
  const uint64_t tables = core_.translations.table_count();
  const Key task = *core_.tasks.Begin(Spec(true), list());
  EXPECT_EQ(core_.domains.Find(pd_)->users, 1u);
  EXPECT_EQ(core_.tasks.End(task, me_), 4711u);
  EXPECT_TRUE(IsRefused(Translate(task, 0, 1, AccessKind::kTaskReceive), Refusal::kNoSuchKey));
  EXPECT_TRUE(FailsWith(core_.tasks.End(task, me_), Refusal::kNoSuchKey));
  EXPECT_EQ(core_.domains.Find(pd_)->users, 0u);
  EXPECT_EQ(core_.translations.table_count(), tables);
  EXPECT_EQ(core_.translations.reverse_record_count(), 0u);
}

TEST_F(IscsiTasksTest, ACommandWithoutDataHasNoPages) {
  const auto task = core_.tasks.Begin({.pd = pd_, .command = 5}, {});
  ASSERT_TRUE(Succeeds(task));
  EXPECT_TRUE(IsReady(Translate(*task, 0, 0, AccessKind::kTaskSend)));
  EXPECT_TRUE(IsRefused(Translate(*task, 0, 1, AccessKind::kTaskSend), Refusal::kOutOfRange));
  EXPECT_EQ(core_.tasks.End(*task, me_), 5u);
}

TEST_F(IscsiTasksTest, ARefusedEndKeepsTheTask) {
  const Key task = *core_.tasks.Begin(Spec(true), list());
  const RegionKeys region = LinearRegion(0, kPage);
  ExpectUnchanged([&] {
    EXPECT_TRUE(FailsWith(core_.tasks.End(Key(1), me_), Refusal::kNoSuchKey));
    EXPECT_TRUE(FailsWith(core_.tasks.End(region.local, me_), Refusal::kWrongType));
    EXPECT_TRUE(FailsWith(core_.tasks.End(task, {PdId(9), me_.qp}), Refusal::kWrongDomain));
    EXPECT_TRUE(FailsWith(core_.tasks.End(Key(task.value() ^ 1), me_), Refusal::kStaleVariant));
  });
  EXPECT_TRUE(IsReady(Translate(task, 0, 8, AccessKind::kTaskReceive)));
}

TEST_F(IscsiTasksTest, ARefusedBeginChangesNothing) {
  TaskSpec no_domain = Spec(true);
  no_domain.pd = PdId(9);
  ExpectRefused(no_domain, list(), MemoryError::kNoSuchDomain);
  TaskSpec too_long = Spec(true);
  too_long.length = 2 * kPage;
  ExpectRefused(too_long, list(), MemoryError::kBadPageList);
  const MachineAddress page(list().pages[0].value());
  core_.ForbidInLists(page, page);
  ExpectRefused(Spec(true), list(), MemoryError::kBadPageList);
  core_.AllowInLists(page, page);
  TaskSpec unprivileged = Spec(true);
  unprivileged.pd = MakeDomain({.has_segments = true});
  ExpectRefused(unprivileged, list(), MemoryError::kNotPrivileged);
}

TEST_F(IscsiTasksTest, AMissingPageNamesTheTask) {
  const Key task = *core_.tasks.Begin(Spec(true), list());
  core_.InvalidateMachine(MachineAddress(0x9000), MachineAddress(0x9000));
  const Translation translation = Translate(task, 0, kPage, AccessKind::kTaskReceive);
  ASSERT_NE(AsFault(translation), nullptr);
  EXPECT_EQ(AsFault(translation)->region, task);
  EXPECT_EQ(AsFault(translation)->first_page, 1u);
}

class IscsiTasksLimitTest : public IscsiTasksTest {
 protected:
  IscsiTasksLimitTest() : IscsiTasksTest(MemoryOptions{.key_slots_max = 2}) {}
};

TEST_F(IscsiTasksLimitTest, AFullTableRefusesWithoutChange) {
  ASSERT_TRUE(Succeeds(core_.tasks.Begin(Spec(true), list())));
  ExpectRefused(Spec(true), list(), MemoryError::kLimitReached);
  ExpectRefused({.pd = pd_}, {}, MemoryError::kLimitReached);
}

}  // namespace
}  // namespace verbena::memory
