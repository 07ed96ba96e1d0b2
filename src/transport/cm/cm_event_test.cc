#include "transport/cm/cm_event.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

TEST(CmEventTest, EachHasANameOfItsOwn) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(CmEventType::kSidrUnreachable); ++i) {
    names.insert(NameOf(static_cast<CmEventType>(i)));
  }
  EXPECT_EQ(names.size(), 10u);
}

}  // namespace
}  // namespace verbena::transport
