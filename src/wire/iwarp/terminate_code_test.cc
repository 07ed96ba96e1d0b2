#include "wire/iwarp/terminate_code.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace verbena::wire {
namespace {

// RFC 5040, figure 15; RFC 5041, figure 8; RFC 5044, 8; RFC 6581, 8.
TEST(TerminateCodeTest, TheTablesOfTheSpecificationsHaveNames) {
  const std::map<int, std::string> layers = {{0, "RDMAP"}, {1, "DDP"}, {2, "MPA"}};
  int named = 0;
  for (int number = 0; number <= 0xFFFF; ++number) {
    const std::string name = NameOf(static_cast<TerminateCode>(number));
    if (name == "unknown") continue;
    ++named;
    EXPECT_EQ(name.substr(0, name.find(':')), layers.at(number >> 12)) << std::hex << number;
  }
  EXPECT_EQ(named, 14 + 12 + 7);
}

}  // namespace
}  // namespace verbena::wire
