#include "base/file_descriptor.h"

#include <fcntl.h>

#include <utility>

#include <gtest/gtest.h>

namespace verbena {
namespace {

bool IsOpenInSystem(int fd) { return fcntl(fd, F_GETFD) >= 0; }

TEST(FileDescriptor, ClosesWhatItOwns) {
  int fd = FileDescriptor::kNone;
  {
    const FileDescriptor file(open("/dev/null", O_RDONLY | O_CLOEXEC));
    fd = file.get();
    ASSERT_TRUE(IsOpenInSystem(fd));
  }
  EXPECT_FALSE(IsOpenInSystem(fd));
}

TEST(FileDescriptor, MovesItsFileOnce) {
  FileDescriptor first(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int fd = first.get();
  FileDescriptor second(std::move(first));
  // NOLINTNEXTLINE(bugprone-use-after-move,clang-analyzer-cplusplus.Move): that is what is tested
  EXPECT_FALSE(first.is_open());
  EXPECT_EQ(second.get(), fd);
  FileDescriptor third;
  EXPECT_FALSE(third.is_open());
  third = std::move(second);
  EXPECT_EQ(third.get(), fd);
  EXPECT_TRUE(IsOpenInSystem(fd));
}

}  // namespace
}  // namespace verbena
