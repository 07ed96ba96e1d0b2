#include "managed/inbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

namespace verbena::managed {

ErrorOr<FileDescriptor> Inbox::MakeSignal() {
  FileDescriptor signal(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!signal.is_open()) return Fail(SystemError("eventfd"));
  return signal;
}

void Inbox::Put(const Request& request) {
  {
    const MutexLock lock(mutex_);
    requests_.push_back(request);
    // The thread that put the first request has woken the pager, or is about to.
    if (requests_.size() > 1) return;
  }
  Signal();
}

void Inbox::PutStop() {
  {
    const MutexLock lock(mutex_);
    stops_ = true;
  }
  Signal();
}

bool Inbox::Take(std::vector<Request>& requests) {
  requests.clear();
  uint64_t signals = 0;
  // The eventfd is cleared before the list is taken, so that a request in between signals again.
  [[maybe_unused]] const ssize_t cleared = read(signal_.get(), &signals, sizeof signals);
  const MutexLock lock(mutex_);
  requests_.swap(requests);
  return !stops_;
}

void Inbox::Signal() const {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(signal_.get(), &one, sizeof one);
}

}  // namespace verbena::managed
