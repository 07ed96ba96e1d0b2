#include "transport/cm/cm_error.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

TEST(CmErrorTest, EachHasANameOfItsOwn) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(CmError::kNotListening); ++i) {
    names.insert(NameOf(static_cast<CmError>(i)));
  }
  EXPECT_EQ(names.size(), 7u);
}

}  // namespace
}  // namespace verbena::transport
