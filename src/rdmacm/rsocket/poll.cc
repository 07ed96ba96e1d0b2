#include "rdmacm/rsocket/poll.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "rdmacm/rsocket/limits.h"
#include "rdmacm/rsocket/watch.h"

namespace verbena::rsockets {
namespace {

// The descriptors of one call, and the rsockets among them.
class PollSet {
 public:
  PollSet(const SocketTable& table, std::span<pollfd> files)
      : files_(files), sockets_(files.size()), waits_(files.size() + 1) {
    for (std::size_t i = 0; i < files.size(); ++i) {
      sockets_[i] = table.Find(files[i].fd);
      // The kernel polls a descriptor that is not an rsocket.
      waits_[i] = files[i];
      if (sockets_[i] != nullptr) waits_[i] = {.fd = -1, .events = POLLIN, .revents = 0};
      has_others_ = has_others_ || sockets_[i] == nullptr;
    }
  }

  // The number of descriptors with events; with `arm`, later events end a Sleep.
  [[nodiscard]] ErrnoOr<int> Check(bool arm) {
    if (has_others_) {
      SetSocketFiles(/*watched=*/false);
      if (poll(waits_.data(), files_.size(), 0) < 0) return Fail(LastErrno());
    }
    int count = 0;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      files_[i].revents =
          sockets_[i] != nullptr ? sockets_[i]->Poll(files_[i].events, arm) : waits_[i].revents;
      if (files_[i].revents != 0) ++count;
    }
    return count;
  }

  // After this, events that another thread finds also end a Sleep.
  void Watch() {
    for (const auto& socket : sockets_) {
      if (socket != nullptr) watches_.emplace_back(socket->watchers());
    }
  }
  void DrainWaker() const { Waker::OfThisThread().Drain(); }

  [[nodiscard]] ErrnoOr<void> Sleep(int timeout_ms) {
    SetSocketFiles(/*watched=*/true);
    waits_.back() = {.fd = Waker::OfThisThread().fd(), .events = POLLIN, .revents = 0};
    if (poll(waits_.data(), waits_.size(), timeout_ms) < 0) return Fail(LastErrno());
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (sockets_[i] != nullptr && waits_[i].revents != 0) sockets_[i]->OnDescriptorReadable();
    }
    return {};
  }

 private:
  void SetSocketFiles(bool watched) {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (sockets_[i] != nullptr) waits_[i].fd = watched ? sockets_[i]->descriptor() : -1;
    }
  }

  const std::span<pollfd> files_;
  std::vector<std::shared_ptr<Socket>> sockets_;  // null for descriptors that the kernel polls
  std::vector<pollfd> waits_;                     // the last is the waker
  bool has_others_ = false;
  std::deque<rsockets::Watch> watches_;
};

int Milliseconds(Duration left) {
  if (left == Duration::Max()) return -1;
  const int64_t ms = (left.nanoseconds() + 999'999) / 1'000'000;
  return static_cast<int>(std::clamp<int64_t>(ms, 0, std::numeric_limits<int>::max()));
}

}  // namespace

ErrnoOr<int> Poll(const SocketTable& table, std::span<pollfd> files, Duration timeout) {
  const Time begin = Now();
  const Time deadline = timeout == Duration::Max() ? Time::Never() : begin + timeout;
  const Time spin_end = std::min(begin + kSpinTime, deadline);
  PollSet set(table, files);
  do {
    const auto count = set.Check(/*arm=*/false);
    if (!count || *count > 0) return count;
  } while (Now() < spin_end);
  if (timeout <= Duration()) return 0;
  set.Watch();
  for (;;) {
    set.DrainWaker();
    const auto count = set.Check(/*arm=*/true);
    if (!count || *count > 0) return count;
    const Time now = Now();
    if (now >= deadline) return 0;
    if (const auto slept = set.Sleep(Milliseconds(deadline - now)); !slept) {
      return Fail(slept.error());
    }
  }
}

}  // namespace verbena::rsockets
