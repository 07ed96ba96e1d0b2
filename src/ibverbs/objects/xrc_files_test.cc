#include "ibverbs/objects/xrc_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include <gtest/gtest.h>

#include "ibverbs/objects/objects.h"
#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

class XrcFilesTest : public ::testing::Test {
 protected:
  ~XrcFilesTest() override {
    close(file_);
    close(other_);
  }
  XrcFiles::Domain Open(int fd, int flags) {
    return files_.Open(Cast(end_.context).handle, fd, flags);
  }

  testing::VerbsEnd end_;
  XrcFiles files_;
  int file_ = memfd_create("one", MFD_CLOEXEC);
  int other_ = memfd_create("two", MFD_CLOEXEC);
};

TEST_F(XrcFilesTest, TheSameFileIsTheSameDomain) {
  XrcFiles::Domain first = Open(file_, O_CREAT);
  ASSERT_NE(first, nullptr);
  const int again = dup(file_);
  XrcFiles::Domain second = Open(again, 0);
  EXPECT_EQ(first, second);
  XrcFiles::Domain third = Open(other_, O_CREAT);
  EXPECT_NE(first, third);
  EXPECT_EQ(files_.Close(first), 0);
  EXPECT_EQ(files_.Close(second), 0);
  EXPECT_EQ(files_.Close(third), 0);
  close(again);
}

TEST_F(XrcFilesTest, WithoutAFileEachDomainIsSeparate) {
  XrcFiles::Domain first = Open(-1, O_CREAT);
  XrcFiles::Domain second = Open(-1, O_CREAT);
  ASSERT_NE(first, nullptr);
  EXPECT_NE(first, second);
  EXPECT_EQ(files_.Close(first), 0);
  EXPECT_EQ(files_.Close(second), 0);
  EXPECT_EQ(Open(-1, 0), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(XrcFilesTest, TheFlagsWorkAsForFiles) {
  EXPECT_EQ(Open(file_, 0), nullptr);
  EXPECT_EQ(errno, EAGAIN);
  XrcFiles::Domain domain = Open(file_, O_CREAT | O_EXCL);
  ASSERT_NE(domain, nullptr);
  EXPECT_EQ(Open(file_, O_CREAT | O_EXCL), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(files_.Close(domain), 0);
  EXPECT_EQ(Open(file_, 0), nullptr) << "it ended with the last that had it open";
  EXPECT_EQ(Open(12'345, O_CREAT), nullptr);
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace verbena::ibverbs
