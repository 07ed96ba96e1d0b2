#include "ibverbs/shared.h"

#include <gtest/gtest.h>

#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

TEST(SharedTest, AnOpenDeviceHasTheHandleOfItsAdapter) {
  testing::VerbsEnd end;
  ASSERT_TRUE(HandleOf(end.context));
  EXPECT_EQ(HandleOf(end.context).events_fd(), end.context->async_fd);
}

}  // namespace
}  // namespace verbena::ibverbs
