#include "memory/spaces/protection_domain.h"

#include <gtest/gtest.h>

#include "tests/support/memory_fixture.h"

namespace verbena::memory {
namespace {

class ProtectionDomainTest : public testing::Test {
 protected:
  ~ProtectionDomainTest() override { EXPECT_TRUE(domains_.IsConsistent()); }

  TranslationStore store_{4};
  Consumers consumers_{store_, 4};
  ProtectionDomains domains_{consumers_, 2};
};

TEST_F(ProtectionDomainTest, BelongsToAConsumer) {
  const ConsumerId owner = *consumers_.Open({.privileged = true});
  const auto pd = domains_.Allocate(owner);
  ASSERT_TRUE(Succeeds(pd));
  EXPECT_EQ(domains_.Find(*pd)->owner, owner);
  EXPECT_EQ(domains_.OwnerOf(*pd), consumers_.Find(owner));
}

TEST_F(ProtectionDomainTest, AllocateNeedsAConsumerAndRoom) {
  EXPECT_TRUE(FailsWith(domains_.Allocate(ConsumerId(5)), MemoryError::kNoSuchConsumer));
  const ConsumerId owner = *consumers_.Open({});
  ASSERT_TRUE(Succeeds(domains_.Allocate(owner)));
  ASSERT_TRUE(Succeeds(domains_.Allocate(owner)));
  EXPECT_TRUE(FailsWith(domains_.Allocate(owner), MemoryError::kLimitReached));
  EXPECT_EQ(domains_.size(), 2u);
  EXPECT_EQ(consumers_.Find(owner)->users, 2u);
}

TEST_F(ProtectionDomainTest, IsNotDeallocatedWhileAnythingBelongsToIt) {
  const PdId pd = *domains_.Allocate(*consumers_.Open({}));
  domains_.AddUser(pd);
  domains_.AddUser(pd);
  domains_.DropUser(pd);
  EXPECT_TRUE(FailsWith(domains_.Deallocate(pd), MemoryError::kInUse));
  domains_.DropUser(pd);
  EXPECT_TRUE(Succeeds(domains_.Deallocate(pd)));
  EXPECT_TRUE(FailsWith(domains_.Deallocate(pd), MemoryError::kNoSuchDomain));
}

TEST_F(ProtectionDomainTest, HoldsItsConsumerOpen) {
  const ConsumerId owner = *consumers_.Open({});
  const PdId pd = *domains_.Allocate(owner);
  EXPECT_TRUE(FailsWith(consumers_.Close(owner), MemoryError::kInUse));
  ASSERT_TRUE(Succeeds(domains_.Deallocate(pd)));
  EXPECT_TRUE(Succeeds(consumers_.Close(owner)));
}

TEST_F(ProtectionDomainTest, AStaleIdNeverFindsItsSuccessor) {
  const ConsumerId owner = *consumers_.Open({});
  const PdId first = *domains_.Allocate(owner);
  ASSERT_TRUE(Succeeds(domains_.Deallocate(first)));
  const PdId second = *domains_.Allocate(owner);
  EXPECT_NE(first, second);
  EXPECT_EQ(domains_.Find(first), nullptr);
  EXPECT_EQ(domains_.OwnerOf(first), nullptr);
  EXPECT_EQ(domains_.Find(PdId()), nullptr);
}

using ProtectionDomainDeathTest = ProtectionDomainTest;

TEST_F(ProtectionDomainDeathTest, DroppingAUserThatIsNotThereIsABug) {
  const PdId pd = *domains_.Allocate(*consumers_.Open({}));
  EXPECT_DEATH(domains_.DropUser(pd), "CHECK failed");
  EXPECT_DEATH(domains_.AddUser(PdId()), "CHECK failed");
}

}  // namespace
}  // namespace verbena::memory
