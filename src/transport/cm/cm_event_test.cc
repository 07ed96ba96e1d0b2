#include "verbena/cm_event.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace verbena {
namespace {

TEST(CmEventTest, EachHasANameOfItsOwn) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(CmEventType::kPosted); ++i) {
    names.insert(NameOf(static_cast<CmEventType>(i)));
  }
  EXPECT_EQ(names.size(), 11u);
}

}  // namespace
}  // namespace verbena
