#include "base/file_size_signal.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

#include <gtest/gtest.h>

#include "base/file_descriptor.h"

namespace verbena {
namespace {

constexpr rlim_t kLimit = 8192;

FileDescriptor LimitedFile() {
  const rlimit limit{.rlim_cur = kLimit, .rlim_max = RLIM_INFINITY};
  setrlimit(RLIMIT_FSIZE, &limit);
  return FileDescriptor(memfd_create("test", MFD_CLOEXEC));
}

bool IsRefused(const FileDescriptor& file) {
  errno = 0;
  return ftruncate(file.get(), kLimit + 1) != 0 && errno == EFBIG;
}

// Shows that the system does send the signal that the tests below expect to be held back.
TEST(NoFileSizeSignalDeathTest, WithoutItTheProgramEnds) {
  EXPECT_EXIT(IsRefused(LimitedFile()), testing::KilledBySignal(SIGXFSZ), "");
}

TEST(NoFileSizeSignalDeathTest, WithItTheCallIsRefused) {
  const auto grow = [] {
    const FileDescriptor file = LimitedFile();
    bool is_refused = false;
    for (int i = 0; i < 3; ++i) {
      const NoFileSizeSignal guard;
      is_refused = IsRefused(file);
      if (ftruncate(file.get(), kLimit) != 0) is_refused = false;
    }
    sigset_t pending, mask;
    sigpending(&pending);
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    const bool is_clean = sigismember(&pending, SIGXFSZ) == 0 && sigismember(&mask, SIGXFSZ) == 0;
    _exit(is_refused && is_clean ? 0 : 1);
  };
  EXPECT_EXIT(grow(), testing::ExitedWithCode(0), "");
}

TEST(NoFileSizeSignalDeathTest, OneThatTheProgramHasPendingStays) {
  const auto grow = [] {
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &only, nullptr);
    raise(SIGXFSZ);
    const FileDescriptor file = LimitedFile();
    {
      const NoFileSizeSignal guard;
      if (!IsRefused(file)) _exit(1);
    }
    sigset_t pending;
    sigpending(&pending);
    _exit(sigismember(&pending, SIGXFSZ) == 1 ? 0 : 2);
  };
  EXPECT_EXIT(grow(), testing::ExitedWithCode(0), "");
}

TEST(NoFileSizeSignalTest, LeavesErrnoAlone) {
  errno = ENOSPC;
  { const NoFileSizeSignal guard; }
  EXPECT_EQ(errno, ENOSPC);
}

}  // namespace
}  // namespace verbena
