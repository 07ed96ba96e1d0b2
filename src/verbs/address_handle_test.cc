#include "verbena/address_handle.h"

#include <gtest/gtest.h>

#include "tests/support/verbs_world.h"

namespace verbena {
namespace {

TEST(AddressHandleTest, EndsWithItsHandle) {
  VerbsNode node;
  const AddressVector way{.source = node.gid, .destination = node.gid};
  QueuePair qp = node.MakeQp(QpType::kUd);
  Good(qp.Activate(QKey{5}));
  AddressHandleId stale{};
  {
    const AddressHandle handle = Good(AddressHandle::Create(node.domain, way));
    stale = handle.id();
  }
  ASSERT_TRUE(qp.Post(Send{.to = Datagram{stale, qp.number(), QKey{5}}}));
  EXPECT_EQ(node.WaitStatus(), CompletionStatus::kLocalQpOperationError);
}

TEST(AddressHandleTest, KeepsItsDomain) {
  VerbsNode node;
  Good(node.region.Destroy());
  AddressHandle handle =
      Good(AddressHandle::Create(node.domain, {.source = node.gid, .destination = node.gid}));
  EXPECT_EQ(CodeOf(node.domain.Destroy()), ErrorCode::kInUse);
  Good(handle.Destroy());
  EXPECT_EQ(handle.id(), AddressHandleId{});
  EXPECT_EQ(CodeOf(handle.Destroy()), ErrorCode::kInvalid);
  Good(node.domain.Destroy());
}

TEST(AddressHandleTest, RefusesAddressesOfDifferentFamilies) {
  VerbsNode node;
  EXPECT_EQ(CodeOf(AddressHandle::Create(node.domain,
                                         {.source = node.gid, .destination = *ParseGid("::1")})),
            ErrorCode::kInvalid);
}

}  // namespace
}  // namespace verbena
