#include "cli/preload.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace verbena::cli {
namespace {

class PreloadTest : public testing::Test {
 protected:
  void SetUp() override { TearDown(); }
  void TearDown() override {
    unsetenv("LD_PRELOAD");
    unsetenv("ASAN_OPTIONS");
  }
  [[nodiscard]] static std::string Variable(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
  }
};

TEST_F(PreloadTest, AppendsEachLibraryOnce) {
  setenv("LD_PRELOAD", "libm.so.6", 1);
  Preload("/a/one.so");
  Preload("/a/two.so");
  Preload("/a/one.so");
  EXPECT_EQ(Variable("LD_PRELOAD"), "libm.so.6:/a/one.so:/a/two.so");
  EXPECT_EQ(Variable("ASAN_OPTIONS"), "verify_asan_link_order=0");
}

TEST_F(PreloadTest, ALibraryInAFolderWithASpaceIsAddedByNameOnly) {
  Preload("/a b/one.so");
  EXPECT_EQ(Variable("LD_PRELOAD"), "one.so");
}

}  // namespace
}  // namespace verbena::cli
