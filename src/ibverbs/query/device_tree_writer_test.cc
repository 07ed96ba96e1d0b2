#include "ibverbs/query/device_tree_writer.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace verbena::ibverbs {
namespace {

namespace fs = std::filesystem;

class DeviceTreeWriterTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(base_.data()), nullptr); }
  void TearDown() override { fs::remove_all(base_); }

  void Write(const DeviceTree& tree) {
    const auto written = WriteTree(tree, root_);
    ASSERT_TRUE(written.has_value()) << written.error().text;
  }
  std::string Read(const std::string& path) const {
    std::stringstream text;
    text << std::ifstream(root_ + path).rdbuf();
    return text.str();
  }
  ino_t FileNumber(const std::string& path) const {
    struct stat found = {};
    EXPECT_EQ(lstat((root_ + path).c_str(), &found), 0) << path;
    return found.st_ino;
  }

  std::string base_ = ::testing::TempDir() + "/verbena-tree-XXXXXX";
  const std::string& root_ = base_;
  DeviceTree tree_ = {.files = {{"/sys/a/one", "1\n"}, {"/sys/a/b/two", "2\n"}},
                      .links = {{"/sys/link", "a/b"}, {"/dev/x", "/dev/null"}}};
};

TEST_F(DeviceTreeWriterTest, WritesFilesFoldersAndLinks) {
  Write(tree_);
  EXPECT_EQ(Read("/sys/a/one"), "1\n");
  EXPECT_EQ(Read("/sys/link/two"), "2\n");
  EXPECT_EQ(fs::read_symlink(root_ + "/dev/x"), "/dev/null");
}

TEST_F(DeviceTreeWriterTest, DoesNotRewriteUnchangedFiles) {
  Write(tree_);
  const ino_t one = FileNumber("/sys/a/one");
  const ino_t two = FileNumber("/sys/a/b/two");
  const ino_t link = FileNumber("/sys/link");
  tree_.files[1].text = "two\n";
  Write(tree_);
  EXPECT_EQ(FileNumber("/sys/a/one"), one);
  EXPECT_EQ(FileNumber("/sys/link"), link);
  EXPECT_NE(FileNumber("/sys/a/b/two"), two) << "replaced as a whole, and not written into";
  EXPECT_EQ(Read("/sys/a/b/two"), "two\n");
}

TEST_F(DeviceTreeWriterTest, LinksCanBeReplaced) {
  Write(tree_);
  tree_.links[0].target = "a";
  Write(tree_);
  EXPECT_EQ(Read("/sys/link/one"), "1\n");
}

TEST_F(DeviceTreeWriterTest, RemovesOtherFiles) {
  Write(tree_);
  tree_.files.pop_back();
  tree_.links.pop_back();
  Write(tree_);
  EXPECT_FALSE(fs::exists(root_ + "/sys/a/b/two"));
  EXPECT_FALSE(fs::is_symlink(root_ + "/dev/x"));
  EXPECT_TRUE(fs::exists(root_ + "/sys/a/one"));
  for (const auto& entry : fs::directory_iterator(root_)) {
    EXPECT_FALSE(entry.path().filename().string().starts_with(".")) << entry.path();
  }
}

TEST_F(DeviceTreeWriterTest, IsReadableForAllWhateverTheUmask) {
  const mode_t before = umask(077);
  Write(tree_);
  umask(before);
  struct stat found = {};
  ASSERT_EQ(stat((root_ + "/sys/a/b").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0755U);
  ASSERT_EQ(stat((root_ + "/sys/a/one").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0444U);
}

TEST_F(DeviceTreeWriterTest, ReportsWhatItCannotWrite) {
  const auto written = WriteTree(tree_, "/proc/no/such");
  ASSERT_FALSE(written.has_value());
  EXPECT_NE(written.error().text.find("cannot make /proc/no"), std::string::npos)
      << written.error().text;
}

TEST_F(DeviceTreeWriterTest, AFolderIsSafeIfOnlyWeWriteToIt) {
  const std::string folder = base_ + "/mine";
  const auto made = SafeFolder(folder);
  ASSERT_TRUE(made.has_value()) << made.error().text;
  EXPECT_EQ(*made, fs::canonical(folder));
  EXPECT_TRUE(SafeFolder(folder).has_value()) << "it is there now";
  chmod(folder.c_str(), 0777);
  EXPECT_FALSE(SafeFolder(folder).has_value());
  chmod(folder.c_str(), 0775);
  EXPECT_FALSE(SafeFolder(folder).has_value());
}

// Another user may have made the name first, as a link to a folder of this user or of its own.
TEST_F(DeviceTreeWriterTest, ALinkOrAFileIsNotASafeFolder) {
  ASSERT_EQ(symlink("/tmp", (base_ + "/link").c_str()), 0);
  std::ofstream(base_ + "/file") << "x";
  for (const char* const name : {"/link", "/file"}) {
    const auto made = SafeFolder(base_ + name);
    ASSERT_FALSE(made.has_value()) << name;
    EXPECT_NE(made.error().text.find("remove it"), std::string::npos) << made.error().text;
  }
}

TEST_F(DeviceTreeWriterTest, AFolderOfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  const std::string folder = base_ + "/other";
  ASSERT_TRUE(SafeFolder(folder).has_value());
  ASSERT_EQ(chown(folder.c_str(), 65'534, 65'534), 0);
  EXPECT_FALSE(SafeFolder(folder).has_value());
}

TEST_F(DeviceTreeWriterTest, TheFolderIsPerNetworkDeviceAndLinkLayer) {
  setenv("XDG_RUNTIME_DIR", base_.c_str(), 1);
  const auto roce = TreeFolder("verbena0", LinkLayer::kRoce);
  const auto ib = TreeFolder("verbena0", LinkLayer::kInfiniband);
  const auto iwarp = TreeFolder("verbena_iw0", LinkLayer::kRoce);
  ASSERT_TRUE(roce.has_value() && ib.has_value() && iwarp.has_value());
  EXPECT_TRUE(roce->starts_with(fs::canonical(base_).string() + "/verbena/net-")) << *roce;
  EXPECT_NE(*roce, *ib);
  EXPECT_NE(*roce, *iwarp);
  setenv("XDG_RUNTIME_DIR", "/no/such/folder", 1);
  const auto elsewhere = TreeFolder("verbena0", LinkLayer::kRoce);
  unsetenv("XDG_RUNTIME_DIR");
  ASSERT_TRUE(elsewhere.has_value()) << elsewhere.error().text;
  EXPECT_TRUE(elsewhere->starts_with("/tmp/verbena-")) << *elsewhere;
}

}  // namespace
}  // namespace verbena::ibverbs
