#include "verbs/objects.h"

#include <gtest/gtest.h>

#include "tests/support/verbs_world.h"

namespace verbena::verbs {
namespace {

class GroupsTest : public testing::Test {
 protected:
  GroupsTest() { Good(qp_.Activate(QKey{1})); }

  const Gid group_ = *ParseGid("239.1.2.3");
  VerbsNode node_;
  QueuePair qp_ = node_.MakeQp(QpType::kUd);
};

TEST_F(GroupsTest, AQueuePairInAGroupIsNotDestroyed) {
  Good(qp_.AttachMulticast(group_));
  EXPECT_EQ(CodeOf(qp_.Destroy()), ErrorCode::kInUse);
  Good(qp_.DetachMulticast(group_));
  EXPECT_TRUE(CodeOf(qp_.DetachMulticast(group_)).has_value());
  Good(qp_.Destroy());
}

TEST_F(GroupsTest, ADestroyedQueuePairLeavesItsGroups) {
  Good(qp_.AttachMulticast(group_));
  qp_ = {};
  // No object refers to the domain any more.
  Good(node_.region.Destroy());
  Good(node_.domain.Destroy());
}

TEST_F(GroupsTest, OnlyDatagramQueuePairsJoinGroups) {
  QueuePair connected = node_.MakeQp();
  EXPECT_EQ(CodeOf(connected.AttachMulticast(group_)), ErrorCode::kInvalid);
  Good(connected.Destroy());
}

TEST(ObjectsTest, ANullObjectHasIdZero) {
  EXPECT_EQ(IdOf(static_cast<const adapter::Cq*>(nullptr)), CqId{});
  EXPECT_EQ(IdOf(static_cast<const adapter::Srq*>(nullptr)), SrqId{});
}

// The limits allow one set of objects, so each round uses what the previous one has released.
TEST(ObjectsTest, DestroyedObjectsFreeTheirResources) {
  Options options = VerbsTestOptions();
  options.qps_max = options.cqs_max = options.srqs_max = options.channels_max = 1;
  options.domains_max = options.paths_max = 1;
  options.key_slots_max = 3;  // a region, a window, and the slot that is never used
  const Context context = Good(Context::Open(options));
  std::vector<std::byte> memory(64);
  for (int round = 0; round < 3; ++round) {
    const ProtectionDomain domain = Good(ProtectionDomain::Allocate(context));
    const CompletionChannel channel = Good(CompletionChannel::Create(context));
    const CompletionQueue cq = Good(CompletionQueue::Create(context, 4, &channel));
    const SharedReceiveQueue srq = Good(SharedReceiveQueue::Create(domain, 4));
    const QueuePair qp =
        Good(QueuePair::Create(domain, {.send_cq = &cq, .receive_cq = &cq, .srq = &srq}));
    const AddressHandle handle = Good(AddressHandle::Create(
        domain, {.source = *ParseGid("127.0.0.1"), .destination = *ParseGid("127.0.0.1")}));
    const MemoryRegion region = Good(MemoryRegion::Register(domain, memory, Access::kAll));
    const MemoryWindow window = Good(MemoryWindow::Allocate(domain, WindowType::k2B));
    EXPECT_EQ(CodeOf(MemoryWindow::Allocate(domain, WindowType::k2B)), ErrorCode::kLimit);
  }
}

}  // namespace
}  // namespace verbena::verbs
