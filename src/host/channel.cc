#include "host/channel.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "host/protocol.h"

namespace verbena::host {
namespace {

constexpr int kBacklog = 1'024;

ErrorOr<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return Fail(SystemError(ENAMETOOLONG, "'" + path + "': a socket's path has 1 to " +
                                              std::to_string(sizeof(address.sun_path) - 1) +
                                              " characters"));
  }
  path.copy(address.sun_path, path.size());
  return address;
}

ErrorOr<FileDescriptor> NewSocket() {
  FileDescriptor made(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.is_open()) return Fail(SystemError("socket of the broker"));
  return made;
}

// The one file that may come with a packet; others are closed.
FileDescriptor FileOf(msghdr& header) {
  FileDescriptor first;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = FileDescriptor::kNone;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      FileDescriptor file(fd);
      if (!first.is_open()) first = std::move(file);
    }
  }
  return first;
}

bool IsAnswered(const sockaddr_un& address) {
  const auto probe = NewSocket();
  return probe &&
         connect(probe->get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

}  // namespace

ErrorOr<BrokerChannel> BrokerChannel::Connect(const std::string& path) {
  const auto address = AddressOf(path);
  if (!address) return Fail(address.error());
  auto socket = NewSocket();
  if (!socket) return Fail(socket.error());
  const auto* const to = reinterpret_cast<const sockaddr*>(&*address);
  if (connect(socket->get(), to, sizeof(*address)) != 0) {
    return Fail(SystemError("no broker answers at " + path));
  }
  return BrokerChannel(std::move(*socket));
}

std::optional<BrokerChannel::Peer> BrokerChannel::peer() const {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (getsockopt(fd(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return std::nullopt;
  return Peer{.pid = credentials.pid, .uid = credentials.uid};
}

BrokerChannel::Status BrokerChannel::Send(const BrokerMessage& message, int file) const {
  std::vector<std::byte> bytes = ToPacket(message);
  iovec vector{.iov_base = bytes.data(), .iov_len = bytes.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = &vector;
  header.msg_iovlen = 1;
  if (file >= 0) {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* const part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(part), &file, sizeof(int));
  }
  while (sendmsg(fd(), &header, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    if (errno == EINTR) continue;
    const bool is_full = errno == EAGAIN || errno == ENOBUFS || errno == ETOOMANYREFS;
    return is_full ? Status::kFull : Status::kEnded;
  }
  return Status::kDone;
}

std::optional<BrokerChannel::Received> BrokerChannel::Receive() {
  std::array<std::byte, kPacketMax> bytes;
  // Room for one file: the kernel closes what does not fit.
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
  iovec vector{.iov_base = bytes.data(), .iov_len = bytes.size()};
  msghdr header{};
  header.msg_iov = &vector;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  ssize_t length = -1;
  do {
    length = recvmsg(fd(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (length < 0 && errno == EINTR);
  if (length < 0 && errno == EAGAIN) return std::nullopt;
  has_ended_ = true;
  if (length <= 0) return std::nullopt;
  FileDescriptor file = FileOf(header);
  if ((header.msg_flags & MSG_TRUNC) != 0) return std::nullopt;
  auto message = ParsePacket(std::span(bytes).first(static_cast<size_t>(length)));
  if (!message) return std::nullopt;
  has_ended_ = false;
  return Received{std::move(*message), std::move(file)};
}

ErrorOr<FileDescriptor> ListenAt(const std::string& path) {
  const auto address = AddressOf(path);
  if (!address) return Fail(address.error());
  auto socket = NewSocket();
  if (!socket) return Fail(socket.error());
  const std::string folder = path.substr(0, path.find_last_of('/'));
  if (path.find('/') != std::string::npos && !folder.empty()) mkdir(folder.c_str(), 0700);
  struct stat existing {};
  if (lstat(path.c_str(), &existing) == 0) {
    if (!S_ISSOCK(existing.st_mode)) {
      return Fail(SystemError(EEXIST, path + " exists, and is no socket"));
    }
    if (IsAnswered(*address)) {
      return Fail(SystemError(EADDRINUSE, "another broker listens at " + path));
    }
    unlink(path.c_str());
  }
  const auto* const at = reinterpret_cast<const sockaddr*>(&*address);
  if (bind(socket->get(), at, sizeof(*address)) != 0 || listen(socket->get(), kBacklog) != 0) {
    return Fail(SystemError("cannot listen at " + path));
  }
  return socket;
}

}  // namespace verbena::host
