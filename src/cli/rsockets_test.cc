#include "cli/rsockets.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace verbena::cli {
namespace {

TEST(Rsockets, SaysWhichLibraryIsMissing) {
  const auto used = UseRsockets("/no/such/folder");
  ASSERT_FALSE(used);
  EXPECT_NE(used.error().text.find("/no/such/folder/libverbena-sockets.so"), std::string::npos);
  EXPECT_EQ(std::getenv("LD_PRELOAD"), nullptr);
}

}  // namespace
}  // namespace verbena::cli
