#include "base/rollback.h"

#include <stdexcept>

#include <gtest/gtest.h>

namespace verbena {
namespace {

TEST(RollbackTest, UndoesUnlessTheChangeIsKept) {
  int value = 1;
  {
    const Rollback rollback([&] { value = 0; });
    value = 2;
  }
  EXPECT_EQ(value, 0);
  {
    Rollback rollback([&] { value = 0; });
    value = 3;
    rollback.Keep();
  }
  EXPECT_EQ(value, 3);
}

TEST(RollbackTest, UndoesWhenTheScopeIsLeftByAnException) {
  int value = 1;
  const auto change = [&] {
    const Rollback rollback([&] { value = 1; });
    value = 2;
    throw std::runtime_error("no");
  };
  EXPECT_THROW(change(), std::runtime_error);
  EXPECT_EQ(value, 1);
}

}  // namespace
}  // namespace verbena
