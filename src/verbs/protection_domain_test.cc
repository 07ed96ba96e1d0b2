#include "verbena/protection_domain.h"

#include <gtest/gtest.h>

#include "tests/support/verbs_world.h"

namespace verbena {
namespace {

TEST(ProtectionDomainTest, CannotBeDestroyedWhileInUse) {
  VerbsNode node;
  EXPECT_EQ(CodeOf(node.domain.Destroy()), ErrorCode::kInUse);
  EXPECT_TRUE(node.domain);
  Good(node.region.Destroy());
  Good(node.domain.Destroy());
  EXPECT_FALSE(node.domain);
  EXPECT_EQ(CodeOf(node.domain.Destroy()), ErrorCode::kInvalid);
}

TEST(ProtectionDomainTest, StaysAliveWhileObjectsUseIt) {
  VerbsNode a, b;
  QueuePair qa = a.MakeQp(), qb = b.MakeQp();
  ConnectPair(a, qa, b, qb);
  // The program has dropped its handles of domains and contexts, but uses the other objects.
  a.domain = {};
  a.context = {};
  b.domain = {};
  b.context = {};
  ASSERT_TRUE(qb.Post(Receive{.data = b.region.Local(0, 64)}));
  ASSERT_TRUE(qa.Post(Send{.data = a.region.Local(0, 64)}));
  EXPECT_EQ(a.WaitStatus(), CompletionStatus::kSuccess);
  EXPECT_EQ(b.WaitStatus(), CompletionStatus::kSuccess);
}

TEST(ProtectionDomainTest, SeparatesKeys) {
  VerbsNode node;
  const ProtectionDomain other = Good(ProtectionDomain::Allocate(node.context));
  const MemoryRegion foreign = Good(MemoryRegion::Register(other, node.memory, Access::kAll));
  QueuePair a = node.MakeQp(), b = node.MakeQp();
  ConnectPair(node, a, node, b);
  ASSERT_TRUE(a.Post(Send{.data = foreign.Local(0, 8)}));
  EXPECT_EQ(node.WaitStatus(), CompletionStatus::kLocalProtectionError);
}

TEST(ProtectionDomainTest, AnEmptyHandleCreatesNothing) {
  VerbsNode node;
  const ProtectionDomain none;
  EXPECT_EQ(CodeOf(MemoryRegion::Register(none, node.memory, Access::kAll)), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(MemoryRegion::RegisterEverything(none, Access::kAll)), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(MemoryRegion::RegisterPages(none, {}, 0, Access::kAll)), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(MemoryRegion::Reserve(none, 1)), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(MemoryRegion::Share(none, node.region, Access::kAll)), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(MemoryWindow::Allocate(none, WindowType::k2A)), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(SharedReceiveQueue::Create(none, 1)), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(AddressHandle::Create(none, {})), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(QueuePair::Create(none, node.Spec())), ErrorCode::kInvalid);
}

}  // namespace
}  // namespace verbena
