#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

extern "C" {
const char* ibv_get_sysfs_path();
int ibv_read_sysfs_file(const char* directory, const char* file, char* out, size_t size);
}

namespace verbena::ibverbs {
namespace {

class SysfsTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(folder_.data()), nullptr); }
  void TearDown() override {
    unlink(Path().c_str());
    rmdir(folder_.data());
  }

  std::string Path() const { return folder_ + "/file"; }
  void Write(const char* text) const {
    std::FILE* const file = std::fopen(Path().c_str(), "w");
    ASSERT_NE(file, nullptr);
    std::fputs(text, file);
    std::fclose(file);
  }
  int Read(size_t size) {
    out_.fill('x');
    return ibv_read_sysfs_file(folder_.data(), "file", out_.data(), size);
  }

  std::string folder_ = ::testing::TempDir() + "/verbena-sysfs-XXXXXX";
  std::array<char, 16> out_{};
};

TEST_F(SysfsTest, StripsTheFinalNewline) {
  Write("4: ACTIVE\n");
  EXPECT_EQ(Read(16), 9);
  EXPECT_STREQ(out_.data(), "4: ACTIVE");
}

TEST_F(SysfsTest, ReadsAFileWithoutANewline) {
  Write("four");
  EXPECT_EQ(Read(16), 4);
  EXPECT_STREQ(out_.data(), "four");
}

TEST_F(SysfsTest, FailsIfItDoesNotFit) {
  Write("four");
  EXPECT_EQ(Read(5), 4);
  EXPECT_EQ(Read(4), -1);
}

TEST_F(SysfsTest, FailsForMissingAndEmptyFiles) {
  EXPECT_EQ(Read(16), -1);
  Write("");
  EXPECT_EQ(Read(16), -1);
}

TEST_F(SysfsTest, ThePathIsSys) { EXPECT_STREQ(ibv_get_sysfs_path(), "/sys"); }

}  // namespace
}  // namespace verbena::ibverbs
