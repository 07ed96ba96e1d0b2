#include "base/file_size_signal.h"

#include <cerrno>
#include <ctime>

namespace verbena {
namespace {

sigset_t OnlyFileSize() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  return set;
}

}  // namespace

NoFileSizeSignal::NoFileSizeSignal() {
  const sigset_t only = OnlyFileSize();
  pthread_sigmask(SIG_BLOCK, &only, &before_);
  sigset_t pending;
  was_pending_ = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
}

NoFileSizeSignal::~NoFileSizeSignal() {
  const int error = errno;
  const sigset_t only = OnlyFileSize();
  constexpr timespec kAtOnce{};
  if (!was_pending_) sigtimedwait(&only, nullptr, &kAtOnce);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = error;
}

}  // namespace verbena
