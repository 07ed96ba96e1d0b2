#include "base/event_file.h"

#include <fcntl.h>
#include <sys/time.h>

#include <cerrno>
#include <csignal>

#include <gtest/gtest.h>

namespace verbena {
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

TEST(EventFile, ATryTakesASignalAndNeverBlocks) {
  const EventFile file = std::move(*EventFile::Open(true));
  EXPECT_TRUE(file.blocks());
  EXPECT_FALSE(file.TryWait());
  file.Signal();
  file.Signal();
  EXPECT_TRUE(file.TryWait());
  EXPECT_TRUE(file.TryWait());
  EXPECT_FALSE(file.TryWait());
  fcntl(file.fd(), F_SETFL, O_NONBLOCK);
  EXPECT_FALSE(file.blocks());
}

TEST(EventFile, OthersAllAtOnce) {
  const EventFile file = Open(false);
  file.Signal();
  file.Signal();
  EXPECT_TRUE(file.Wait());
  EXPECT_FALSE(file.Wait());
}

TEST(EventFile, AHandlerThatRanEndsTheWait) {
  const ErrorOr<EventFile> file = EventFile::Open(true);
  ASSERT_TRUE(file.has_value());
  struct sigaction before {};
  struct sigaction action {};
  action.sa_handler = [](int) {};  // and without SA_RESTART
  ASSERT_EQ(sigaction(SIGALRM, &action, &before), 0);
  // The timer repeats, in case the first signal arrives before the wait begins.
  const itimerval soon{.it_interval = {0, 20'000}, .it_value = {0, 20'000}};
  ASSERT_EQ(setitimer(ITIMER_REAL, &soon, nullptr), 0);
  EXPECT_FALSE(file->Wait());
  EXPECT_EQ(errno, EINTR);
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
}

TEST(EventFile, DoesNotOutliveAnExec) {
  const EventFile file = Open(true);
  EXPECT_NE(fcntl(file.fd(), F_GETFD) & FD_CLOEXEC, 0);
}

}  // namespace
}  // namespace verbena
