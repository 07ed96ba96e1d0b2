#include "base/own_file.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "base/check.h"

namespace verbena {
namespace {

class OwnFileTest : public ::testing::Test {
 protected:
  OwnFileTest() { CHECK(mkdtemp(folder_.data()) != nullptr); }
  ~OwnFileTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string At(const char* name) const { return folder_ + "/" + name; }
  void Make(const char* name, const char* text = "") const {
    const FileDescriptor file(open(At(name).c_str(), O_CREAT | O_WRONLY, 0644));
    CHECK(file.is_open() && write(file.get(), text, std::strlen(text)) >= 0);
  }
  // That both uses, and the look beforehand, refuse it in these words.
  void ExpectRefused(const char* name, const std::string& words) const {
    for (const FileUse use : {FileUse::kAppend, FileUse::kReadWrite}) {
      const auto file = OpenOwnFile(At(name), use);
      ASSERT_FALSE(file) << name;
      EXPECT_NE(file.error().text.find(words), std::string::npos) << file.error().text;
    }
    EXPECT_NE(WhyNoOwnFile(At(name)).find(words), std::string::npos) << WhyNoOwnFile(At(name));
  }

  std::string folder_ = ::testing::TempDir() + "/verbena-own-file-XXXXXX";
};

TEST_F(OwnFileTest, OneThatIsMadeIsTheUsersAloneAndNotHandedOn) {
  umask(0);
  EXPECT_EQ(WhyNoOwnFile(At("new")), "");
  const auto file = OpenOwnFile(At("new"), FileUse::kAppend);
  ASSERT_TRUE(file) << file.error().text;
  struct stat status {};
  ASSERT_EQ(fstat(file->get(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600U);
  EXPECT_EQ(fcntl(file->get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST_F(OwnFileTest, OneThatIsThereIsTaken) {
  Make("old", "old");
  EXPECT_EQ(WhyNoOwnFile(At("old")), "");
  const auto file = OpenOwnFile(At("old"), FileUse::kAppend);
  ASSERT_TRUE(file) << file.error().text;
  ASSERT_EQ(write(file->get(), "+new", 4), 4);
  const auto other = OpenOwnFile(At("old"), FileUse::kReadWrite);
  ASSERT_TRUE(other) << other.error().text;
  std::string text(16, 0);
  text.resize(static_cast<size_t>(read(other->get(), text.data(), text.size())));
  EXPECT_EQ(text, "old+new");
}

TEST_F(OwnFileTest, ASymbolicLinkIsNotFollowed) {
  Make("victim", "victim");
  ASSERT_EQ(symlink(At("victim").c_str(), At("link").c_str()), 0);
  ASSERT_EQ(symlink(At("nowhere").c_str(), At("dangling").c_str()), 0);
  ExpectRefused("link", "a symbolic link, which is not followed");
  ExpectRefused("dangling", "a symbolic link, which is not followed");
  EXPECT_FALSE(std::filesystem::exists(At("nowhere")));
}

TEST_F(OwnFileTest, NonFilesAreRefusedWithoutBlocking) {
  ASSERT_EQ(mkfifo(At("fifo").c_str(), 0600), 0);
  ExpectRefused("fifo", "a FIFO");
  ASSERT_EQ(mkdir(At("folder").c_str(), 0700), 0);
  ExpectRefused("folder", "a directory");
  const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un name{.sun_family = AF_UNIX, .sun_path = {}};
  std::strncpy(name.sun_path, At("socket").c_str(), sizeof name.sun_path - 1);
  ASSERT_EQ(bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  ExpectRefused("socket", "a socket");
  const auto device = OpenOwnFile("/dev/null", FileUse::kAppend);
  ASSERT_FALSE(device);
  EXPECT_NE(device.error().text.find("/dev/null is a device"), std::string::npos)
      << device.error().text;
}

TEST_F(OwnFileTest, WhereNothingCanBeMadeTheFolderIsNamed) {
  const std::string path = At("missing/file");
  const Error error = OpenOwnFile(path, FileUse::kAppend).error();
  EXPECT_EQ(error.text, path + ": No such file or directory");
  EXPECT_EQ(error.os_error, ENOENT);
  EXPECT_NE(WhyNoOwnFile(path).find(At("missing") + ": No such file or directory"),
            std::string::npos);
}

// Only root can become another user.
TEST_F(OwnFileTest, AnotherUsersFileIsRefusedAndRootMayWriteToAny) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  Make("roots");
  ASSERT_EQ(chmod(At("roots").c_str(), 0666), 0);
  ASSERT_EQ(chmod(folder_.c_str(), 0777), 0);
  constexpr uid_t kOtherUser = 65534;
  const pid_t child = fork();
  if (child == 0) {
    if (seteuid(kOtherUser) != 0) _exit(1);
    const auto file = OpenOwnFile(At("roots"), FileUse::kAppend);
    const bool made = OpenOwnFile(At("other_users"), FileUse::kAppend).has_value();
    const bool refused =
        !file && file.error().text.find("belongs to another user") != std::string::npos;
    _exit(refused && made && !WhyNoOwnFile(At("roots")).empty() ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(OpenOwnFile(At("other_users"), FileUse::kAppend).has_value());
}

}  // namespace
}  // namespace verbena
