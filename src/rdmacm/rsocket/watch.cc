#include "rdmacm/rsocket/watch.h"

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

namespace verbena::rsockets {
namespace {

EventFile OpenFile() {
  auto file = EventFile::Open(/*counted=*/false);
  if (!file) throw std::system_error(file.error().os_error, std::system_category());
  return std::move(*file);
}

}  // namespace

Waker::Waker() : file_(OpenFile()) {}

Waker& Waker::OfThisThread() {
  thread_local Waker waker;
  return waker;
}

void Watchers::Notify() {
  const MutexLock lock(lock_);
  if (wakers_.empty()) return;
  const Waker* const own = &Waker::OfThisThread();
  for (const Waker* const waker : wakers_) {
    if (waker != own) waker->Signal();
  }
}

Watch::Watch(Watchers& watchers) : watchers_(watchers), waker_(Waker::OfThisThread()) {
  const MutexLock lock(watchers_.lock_);
  watchers_.wakers_.push_back(&waker_);
}

Watch::~Watch() {
  const MutexLock lock(watchers_.lock_);
  const auto own = std::ranges::find(watchers_.wakers_, &waker_);
  *own = watchers_.wakers_.back();
  watchers_.wakers_.pop_back();
}

}  // namespace verbena::rsockets
