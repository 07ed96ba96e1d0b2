#include "fabric/netlink_reports.h"

#include <linux/netlink.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>

namespace verbena::fabric {

FileDescriptor OpenNetlinkReports(uint32_t groups) {
  FileDescriptor file(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
  sockaddr_nl wanted{};
  wanted.nl_family = AF_NETLINK;
  wanted.nl_groups = groups;
  const auto* const address = reinterpret_cast<const sockaddr*>(&wanted);
  if (!file.is_open() || bind(file.get(), address, sizeof wanted) != 0) return {};
  return file;
}

bool TakeNetlinkReports(int fd) {
  std::array<std::byte, 4'096> message;
  bool is_there = false;
  // An overflow (ENOBUFS) is a report as well.
  while (recv(fd, message.data(), message.size(), 0) >= 0 || errno == ENOBUFS) is_there = true;
  return is_there;
}

}  // namespace verbena::fabric
