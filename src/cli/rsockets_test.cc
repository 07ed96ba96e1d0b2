#include "cli/rsockets.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace verbena::cli {
namespace {

TEST(Rsockets, NamesTheMissingLibrary) {
  const auto used = UseRsockets("/no/such/folder");
  ASSERT_FALSE(used);
  EXPECT_NE(used.error().text.find("/no/such/folder/libverbena-sockets.so"), std::string::npos);
  EXPECT_EQ(std::getenv("LD_PRELOAD"), nullptr);
}

// Checks the variable only: a program would load librdmacm.so.1, which fails under a sanitizer.
TEST(Rsockets, BothLibrariesArePreloaded) {
  const std::filesystem::path folder = ::testing::TempDir();
  std::ofstream(folder / "libverbena-sockets.so").flush();
  const auto used = UseRsockets(folder);
  const char* const preloaded = std::getenv("LD_PRELOAD");
  const std::string found = preloaded != nullptr ? preloaded : "";
  unsetenv("LD_PRELOAD");
  unsetenv("ASAN_OPTIONS");
  std::filesystem::remove(folder / "libverbena-sockets.so");
  ASSERT_TRUE(used) << used.error().text;
  EXPECT_THAT(found, testing::MatchesRegex("[^:]*/libverbena-sockets.so:[^:]*/librspreload.so"));
}

}  // namespace
}  // namespace verbena::cli
