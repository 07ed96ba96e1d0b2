#include "cli/device_files.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace verbena::cli {
namespace {

// run_command_test.cc covers the case that the libraries exist.
TEST(DeviceFilesTest, WithoutTheLibraryItFailsAndChangesNothing) {
  unsetenv("VERBENA_DEVICE_TREE");
  const char* const before = std::getenv("LD_PRELOAD");
  const auto shown = ShowDeviceFiles("/no/such/folder");
  ASSERT_FALSE(shown.has_value());
  EXPECT_NE(shown.error().text.find("/no/such/folder/libverbena-files.so"), std::string::npos);
  EXPECT_EQ(std::getenv("VERBENA_DEVICE_TREE"), nullptr);
  EXPECT_EQ(std::getenv("LD_PRELOAD"), before);
}

TEST(DeviceFilesTest, HidesTheFilesOfAnOuterRun) {
  setenv("VERBENA_DEVICE_TREE", "/tmp", 1);
  HideDeviceFiles();
  EXPECT_EQ(std::getenv("VERBENA_DEVICE_TREE"), nullptr);
}

}  // namespace
}  // namespace verbena::cli
