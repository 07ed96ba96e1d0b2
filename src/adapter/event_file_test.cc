#include "adapter/event_file.h"

#include <fcntl.h>

#include <gtest/gtest.h>

namespace verbena::adapter {
namespace {

EventFile Open(bool counted) {
  ErrorOr<EventFile> file = EventFile::Open(counted);
  EXPECT_TRUE(file.has_value());
  fcntl(file->fd(), F_SETFL, O_NONBLOCK);
  return std::move(*file);
}

TEST(EventFile, CountedSignalsAreTakenOneByOne) {
  const EventFile file = Open(true);
  EXPECT_FALSE(file.Wait());
  file.Signal();
  file.Signal();
  EXPECT_TRUE(file.Wait());
  EXPECT_TRUE(file.Wait());
  EXPECT_FALSE(file.Wait());
}

TEST(EventFile, OthersAllAtOnce) {
  const EventFile file = Open(false);
  file.Signal();
  file.Signal();
  EXPECT_TRUE(file.Wait());
  EXPECT_FALSE(file.Wait());
}

TEST(EventFile, DoesNotOutliveAnExec) {
  const EventFile file = Open(true);
  EXPECT_NE(fcntl(file.fd(), F_GETFD) & FD_CLOEXEC, 0);
}

}  // namespace
}  // namespace verbena::adapter
