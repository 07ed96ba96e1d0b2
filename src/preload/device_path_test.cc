#include "preload/device_path.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace verbena::preload {
namespace {

TEST(DevicePathTest, FoldersOfTheDeviceAndAllFilesBelowAreRedirected) {
  for (const char* const path :
       {"/sys/class/infiniband", "/sys/class/infiniband/", "/sys/class/infiniband/verbena0/ports/1",
        "/sys/class/infiniband_verbs/uverbs0", "/sys/class/infiniband_mad/abi_version",
        "/dev/infiniband", "/dev/infiniband/rdma_cm", "/dev/infiniband/uverbs1",
        "/sys/devices/pci7665:00/7665:00:00.0/vendor", "/sys/bus/pci/devices/7665:00:00.0"}) {
    EXPECT_EQ(Classify(path), PathKind::kTree) << path;
  }
}

TEST(DevicePathTest, OtherPathsAreNotRedirected) {
  for (const char* const path :
       {"", "/", "/sys", "/sys/class", "/sys/class/infinibandx", "/sys/class/infiniband_cm",
        "/sys/class/net", "/dev", "/dev/infinibanD/uverbs0", "/dev/null", "sys/class/infiniband",
        "dev/infiniband/uverbs0", "/sys/devices/pci0000:00", "/sys/bus/pci/devices/0000:00:00.0",
        "/tmp/sys/class/infiniband"}) {
    EXPECT_EQ(Classify(path), PathKind::kOther) << path;
  }
  EXPECT_EQ(Classify(nullptr), PathKind::kOther);
}

TEST(DevicePathTest, EveryPathOfTheDeviceIsACandidate) {
  for (const std::string_view folder : kTreeFolders) {
    EXPECT_TRUE(IsCandidate(std::string(folder).c_str())) << folder;
    EXPECT_TRUE(IsCandidate(("/" + std::string(folder)).c_str())) << folder;
  }
  EXPECT_FALSE(IsCandidate("/usr/lib"));
  EXPECT_FALSE(IsCandidate(""));
  EXPECT_FALSE(IsCandidate(nullptr));
}

TEST(DevicePathTest, RecognizesTheCharacterDevice) {
  EXPECT_EQ(Classify("/dev/infiniband/uverbs0"), PathKind::kDevice);
  EXPECT_EQ(Classify("//dev//infiniband///uverbs0"), PathKind::kDevice);
  EXPECT_EQ(Classify("/dev/infiniband/uverbs00"), PathKind::kTree);
}

TEST(DevicePathTest, SlashesMayBeRepeated) {
  EXPECT_EQ(Classify("//sys///class//infiniband//verbena0"), PathKind::kTree);
  EXPECT_EQ(Classify("/sys/class//infiniband"), PathKind::kTree);
}

TEST(DevicePathTest, RefusesARewrittenPathThatDoesNotFit) {
  std::array<char, 16> out{};
  EXPECT_TRUE(Rewrite("/dev/x", "/tmp/root", out));  // 15 characters and the terminator
  EXPECT_STREQ(out.data(), "/tmp/root/dev/x");
  EXPECT_FALSE(Rewrite("/dev/xy", "/tmp/root", out));
}

TEST(DevicePathTest, StripsTheRootFromAPath) {
  const auto stripped = [](std::string path) {
    StripRoot(path.data(), "/tmp/root");
    return std::string(path.c_str());
  };
  EXPECT_EQ(stripped("/tmp/root/sys/class"), "/sys/class");
  EXPECT_EQ(stripped("/tmp/rooted/sys"), "/tmp/rooted/sys");
  EXPECT_EQ(stripped("/tmp/root"), "/tmp/root");
  EXPECT_EQ(stripped("/sys/class"), "/sys/class");
  std::string path = "/sys";
  StripRoot(path.data(), "");
  EXPECT_EQ(path, "/sys");
}

}  // namespace
}  // namespace verbena::preload
