#include "base/when_memory.h"

#include <gtest/gtest.h>

namespace verbena {
namespace {

TEST(WhenMemoryTest, ReturnsWhetherThereWasMemory) {
  int done = 0;
  EXPECT_TRUE(WhenMemory([&] { ++done; }));
  EXPECT_FALSE(WhenMemory([&] { throw std::bad_alloc(); }));
  EXPECT_EQ(done, 1);
}

TEST(WhenMemoryTest, OtherExceptionsPass) {
  EXPECT_THROW(static_cast<void>(WhenMemory([] { throw 1; })), int);
}

}  // namespace
}  // namespace verbena
