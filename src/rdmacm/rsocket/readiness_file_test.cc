#include "rdmacm/rsocket/readiness_file.h"

#include <fcntl.h>
#include <poll.h>

#include <gtest/gtest.h>

namespace verbena::rsockets {
namespace {

bool IsReadable(const ReadinessFile& file) {
  pollfd poll_file{.fd = file.fd(), .events = POLLIN, .revents = 0};
  return poll(&poll_file, 1, 0) == 1;
}

TEST(ReadinessFile, IsReadableFromSignalToClear) {
  const auto file = ReadinessFile::Open();
  ASSERT_TRUE(file);
  EXPECT_FALSE(IsReadable(*file));
  file->Signal();
  file->Signal();
  EXPECT_TRUE(IsReadable(*file));
  file->Clear();
  EXPECT_FALSE(IsReadable(*file));
  file->Clear();
}

TEST(ReadinessFile, IsReadableWhenAnAddedFileIs) {
  const auto file = ReadinessFile::Open();
  const auto other = EventFile::Open(false);
  ASSERT_TRUE(file && other);
  ASSERT_TRUE(file->Add(other->fd()));
  EXPECT_EQ(file->Add(other->fd()).error(), Errno{EEXIST});
  other->Signal();
  EXPECT_TRUE(IsReadable(*file));
  file->Remove(other->fd());
  EXPECT_FALSE(IsReadable(*file));
}

TEST(ReadinessFile, RenumberKeepsTheFiles) {
  auto file = ReadinessFile::Open();
  const auto other = EventFile::Open(false);
  ASSERT_TRUE(file && other);
  ASSERT_TRUE(file->Add(other->fd()));
  const int number = file->fd();
  file->Renumber();
  EXPECT_GT(file->fd(), number);
  EXPECT_EQ(fcntl(number, F_GETFD), -1);
  EXPECT_EQ(fcntl(file->fd(), F_GETFD), FD_CLOEXEC);
  other->Signal();
  EXPECT_TRUE(IsReadable(*file));
}

}  // namespace
}  // namespace verbena::rsockets
