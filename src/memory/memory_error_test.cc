#include "memory/memory_error.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace verbena::memory {
namespace {

constexpr auto kLast = static_cast<unsigned>(MemoryError::kOwnedByTheSystem);

TEST(MemoryErrorTest, EveryErrorHasADistinctName) {
  std::set<std::string> names;
  for (unsigned i = 0; i <= kLast; ++i) names.insert(NameOf(static_cast<MemoryError>(i)));
  EXPECT_EQ(names.size(), kLast + 1);
  EXPECT_EQ(names.count("?"), 0u);
}

TEST(MemoryErrorTest, TheLastValueIsKnown) {
  EXPECT_STREQ(NameOf(static_cast<MemoryError>(kLast + 1)), "?");
}

}  // namespace
}  // namespace verbena::memory
