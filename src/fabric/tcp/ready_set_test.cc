#include "fabric/tcp/ready_set.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include <gtest/gtest.h>

namespace verbena::fabric {
namespace {

class ReadySetTest : public testing::Test {
 protected:
  ReadySetTest() {
    std::array<int, 2> files{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, files.data()), 0);
    ours_ = FileDescriptor(files[0]);
    peers_ = FileDescriptor(files[1]);
  }

  void Watch(Interest wanted) {
    EXPECT_TRUE(set_.Watch(ours_.get(), kId, watched_, wanted));
    watched_ = wanted;
  }
  size_t Count() { return set_.Look(room_).size(); }
  bool IsReadable() {
    pollfd file{.fd = set_.fd(), .events = POLLIN, .revents = 0};
    return poll(&file, 1, 0) == 1;
  }

  static constexpr ReadyId kId{77};
  ReadySet set_ = *ReadySet::Open();
  ReadySet::Ready room_;
  FileDescriptor ours_, peers_;
  Interest watched_;
};

TEST_F(ReadySetTest, ReportsAFileUnderItsId) {
  Watch({.reads = true});
  EXPECT_EQ(Count(), 0u);
  EXPECT_FALSE(IsReadable());
  ASSERT_EQ(write(peers_.get(), "x", 1), 1);
  EXPECT_TRUE(IsReadable());
  const auto ready = set_.Look(room_);
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready[0], kId);
}

TEST_F(ReadySetTest, ReportsOnlyWhatIsWanted) {
  Watch({.writes = true});
  EXPECT_EQ(Count(), 1u);
  Watch({.reads = true});
  EXPECT_EQ(Count(), 0u);
}

TEST_F(ReadySetTest, AFileThatIsWatchedForNothingDoesNotReportItsEnd) {
  Watch({.reads = true});
  peers_ = FileDescriptor();
  EXPECT_EQ(Count(), 1u);
  Watch({});
  EXPECT_EQ(Count(), 0u);
  Watch({.reads = true});
  EXPECT_EQ(Count(), 1u);
}

}  // namespace
}  // namespace verbena::fabric
