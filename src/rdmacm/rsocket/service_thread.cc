#include "rdmacm/rsocket/service_thread.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <system_error>

#include "base/check.h"
#include "base/clock.h"
#include "base/quiet_thread.h"

namespace verbena::rsockets {
namespace {

FileDescriptor OpenEpoll() {
  FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.is_open()) throw std::system_error(errno, std::system_category());
  return epoll;
}

EventFile OpenWake() {
  auto file = EventFile::Open(/*counted=*/false);
  if (!file) throw std::system_error(file.error().os_error, std::system_category());
  return std::move(*file);
}

epoll_event Readable(int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  return event;
}

}  // namespace

ServiceThread::ServiceThread() : epoll_(OpenEpoll()), wake_(OpenWake()) {
  epoll_event event = Readable(wake_.fd());
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.fd(), &event);
}

ErrnoOr<void> ServiceThread::Add(int fd, std::weak_ptr<ServiceClient> client) {
  const std::scoped_lock lock(lock_);
  if (!thread_.joinable()) {
    thread_ = StartQuietThread("verbena-rsocket", [this] { Run(); });
  }
  entries_[fd] = {.client = std::move(client)};
  epoll_event event = Readable(fd);
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    const Errno error = LastErrno();
    entries_.erase(fd);
    return Fail(error);
  }
  return {};
}

void ServiceThread::Remove(int fd) {
  std::unique_lock lock(lock_);
  const auto entry = entries_.find(fd);
  if (entry == entries_.end()) return;
  timers_.erase({entry->second.timer, fd});
  entries_.erase(entry);
  epoll_event unused{};
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, &unused);
  if (thread_.get_id() == std::this_thread::get_id()) return;
  call_ended_.wait(lock, [&] { return called_fd_ != fd; });
}

void ServiceThread::SetInterest(int fd, bool wanted) const {
  epoll_event event = Readable(fd);
  if (!wanted) event.events = 0;
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void ServiceThread::SetTimer(int fd, Time time) {
  const std::scoped_lock lock(lock_);
  const auto entry = entries_.find(fd);
  if (entry == entries_.end()) return;
  timers_.erase({entry->second.timer, fd});
  entry->second.timer = time;
  if (time == Time::Never()) return;
  timers_.insert({time, fd});
  wake_.Signal();
}

void ServiceThread::Run() {
  std::array<epoll_event, 64> events;
  for (;;) {
    const int count =
        epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), TimeoutMs());
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == wake_.fd()) {
        static_cast<void>(wake_.TryWait());
      } else {
        Serve(fd);
      }
    }
    ServeTimers();
  }
}

int ServiceThread::TimeoutMs() {
  const std::scoped_lock lock(lock_);
  if (timers_.empty()) return -1;
  const int64_t ms = (timers_.begin()->first - Now()).nanoseconds() / 1'000'000 + 1;
  return static_cast<int>(std::clamp<int64_t>(ms, 0, std::numeric_limits<int>::max()));
}

std::shared_ptr<ServiceClient> ServiceThread::Begin(int fd) {
  const std::scoped_lock lock(lock_);
  const auto entry = entries_.find(fd);
  if (entry == entries_.end()) return nullptr;
  auto client = entry->second.client.lock();
  if (client != nullptr) called_fd_ = fd;
  return client;
}

void ServiceThread::End() {
  const std::scoped_lock lock(lock_);
  called_fd_ = FileDescriptor::kNone;
  call_ended_.notify_all();
}

void ServiceThread::Serve(int fd) {
  const auto client = Begin(fd);
  if (client == nullptr) return;
  client->OnReadable(fd);
  End();
}

void ServiceThread::ServeTimers() {
  for (;;) {
    int fd = FileDescriptor::kNone;
    {
      const std::scoped_lock lock(lock_);
      if (timers_.empty() || timers_.begin()->first > Now()) return;
      fd = timers_.begin()->second;
      timers_.erase(timers_.begin());
      entries_[fd].timer = Time::Never();
    }
    const auto client = Begin(fd);
    if (client == nullptr) continue;
    client->OnTime();
    End();
  }
}

}  // namespace verbena::rsockets
