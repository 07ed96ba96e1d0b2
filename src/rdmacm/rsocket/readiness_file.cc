#include "rdmacm/rsocket/readiness_file.h"

#include <fcntl.h>
#include <sys/epoll.h>

#include <utility>

namespace verbena::rsockets {

ErrnoOr<ReadinessFile> ReadinessFile::Open() {
  FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.is_open()) return Fail(LastErrno());
  auto changed = EventFile::Open(/*counted=*/false);
  if (!changed) return Fail(Errno{changed.error().os_error});
  ReadinessFile file(std::move(epoll), std::move(*changed));
  if (const auto added = file.Add(file.changed_.fd()); !added) return Fail(added.error());
  return file;
}

ErrnoOr<void> ReadinessFile::Add(int fd) const {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return Fail(LastErrno());
  return {};
}

void ReadinessFile::Remove(int fd) const {
  epoll_event unused{};
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, &unused);
}

void ReadinessFile::Renumber() {
  FileDescriptor renumbered(fcntl(epoll_.get(), F_DUPFD_CLOEXEC, 0));
  if (renumbered.is_open()) epoll_ = std::move(renumbered);
}

}  // namespace verbena::rsockets
