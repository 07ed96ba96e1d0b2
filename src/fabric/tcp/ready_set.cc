#include "fabric/tcp/ready_set.h"

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

namespace verbena::fabric {

ErrorOr<ReadySet> ReadySet::Open() {
  FileDescriptor set(epoll_create1(EPOLL_CLOEXEC));
  if (!set.is_open()) return Fail(SystemError("cannot watch TCP sockets"));
  return ReadySet(std::move(set));
}

bool ReadySet::Watch(int file, ReadyId id, Interest before, Interest wanted) const {
  if (before == wanted) return true;
  epoll_event event{};
  event.events = (wanted.reads ? uint32_t{EPOLLIN} : 0) | (wanted.writes ? uint32_t{EPOLLOUT} : 0);
  event.data.u64 = id.value();
  const int call = before == Interest{}   ? EPOLL_CTL_ADD
                   : wanted == Interest{} ? EPOLL_CTL_DEL
                                          : EPOLL_CTL_MOD;
  return epoll_ctl(set_.get(), call, file, &event) == 0;
}

std::span<const ReadyId> ReadySet::Look(Ready& room) const {
  std::array<epoll_event, kReadyMax> events;
  const int count = epoll_wait(set_.get(), events.data(), static_cast<int>(events.size()), 0);
  const auto found = static_cast<size_t>(std::max(count, 0));
  for (size_t i = 0; i < found; ++i) room[i] = ReadyId(events[i].data.u64);
  return std::span(room).first(found);
}

}  // namespace verbena::fabric
