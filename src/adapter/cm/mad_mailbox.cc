#include "adapter/cm/mad_mailbox.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <string>

#include "adapter/cm/abstract_name.h"

namespace verbena::adapter {
namespace {

using Bytes = std::array<std::byte, ForwardedMad::kSize>;

ForwardResult SendTo(int socket, const std::string& name, const Bytes& bytes) {
  const AbstractName address(name);
  constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL;
  if (sendto(socket, bytes.data(), bytes.size(), kFlags, address.get(), address.size()) >= 0) {
    return ForwardResult::kForwarded;
  }
  const bool is_full = errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM || errno == EINTR;
  return is_full ? ForwardResult::kFull : ForwardResult::kNoListener;
}

// The data of an epoll event: the socket and its ports, which is all that Receive needs.
//
//    63           32 31     24 23          8 7       0
//   +---------------+---------+-------------+---------+
//   |    socket     |  count  | first port  | protocol|
//   +---------------+---------+-------------+---------+
uint64_t Pack(int socket, const MailboxPorts& ports) {
  CHECK(ports.count < 256);
  return uint64_t{static_cast<uint32_t>(socket)} << 32 | uint64_t{ports.count} << 24 |
         uint64_t{ports.first} << 8 | static_cast<uint8_t>(ports.protocol);
}
int SocketOf(uint64_t packed) { return static_cast<int>(packed >> 32); }
MailboxPorts PortsOf(uint64_t packed) {
  return {.protocol = static_cast<wire::IpCmProtocol>(packed & 0xFF),
          .first = static_cast<uint16_t>(packed >> 8),
          .count = static_cast<uint16_t>(packed >> 24 & 0xFF)};
}

std::optional<uid_t> SenderOf(msghdr& message) {
  const cmsghdr* const control = CMSG_FIRSTHDR(&message);
  if (control == nullptr || control->cmsg_level != SOL_SOCKET ||
      control->cmsg_type != SCM_CREDENTIALS || control->cmsg_len != CMSG_LEN(sizeof(ucred))) {
    return std::nullopt;
  }
  ucred sender{};
  std::memcpy(&sender, CMSG_DATA(control), sizeof sender);
  return sender.uid;
}

}  // namespace

ErrorOr<MadForwarder> MadForwarder::Open(uint16_t base_port) {
  FileDescriptor file(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!file.is_open()) return Fail(SystemError("cannot open a Unix socket"));
  return MadForwarder(std::move(file), PortNames(base_port));
}

ForwardResult MadForwarder::Forward(const ForwardedMad& mad) const {
  Bytes bytes;
  mad.Serialize(bytes);
  const auto send = [&](const std::string& name) { return SendTo(socket_.get(), name, bytes); };
  if (IsEphemeral(mad.service.port)) {
    const ForwardResult result = send(names_.OfBlock(mad.service));
    if (result != ForwardResult::kNoListener) return result;
  }
  const ForwardResult result = send(names_.OfAddress(mad.service, mad.destination));
  if (result != ForwardResult::kNoListener) return result;
  return send(mad.destination.is_ipv4() ? names_.OfIpv4(mad.service) : names_.OfIpv6(mad.service));
}

ErrorOr<MadMailboxes> MadMailboxes::Open(uint16_t base_port) {
  FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.is_open()) return Fail(SystemError("epoll_create1"));
  return MadMailboxes(std::move(epoll), base_port);
}

ErrorOr<void> MadMailboxes::Add(int socket, const MailboxPorts& ports) {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = Pack(socket, ports)}};
  if (epoll_ctl(fd(), EPOLL_CTL_ADD, socket, &event) != 0) return Fail(SystemError("epoll_ctl"));
  return {};
}

void MadMailboxes::Remove(int socket) { epoll_ctl(fd(), EPOLL_CTL_DEL, socket, nullptr); }

void MadMailboxes::Receive(Time now, const Handler& handle) {
  std::array<epoll_event, kMailboxesPerReceive> ready;
  const int count = epoll_wait(fd(), ready.data(), kMailboxesPerReceive, 0);
  for (int i = 0; i < count; ++i) {
    const uint64_t packed = ready[static_cast<size_t>(i)].data.u64;
    for (int mads = 0; mads < kMadsPerMailbox; ++mads) {
      if (!ReceiveOne(SocketOf(packed), PortsOf(packed), now, handle)) break;
    }
  }
}

bool MadMailboxes::ReceiveOne(int socket, const MailboxPorts& ports, Time now,
                              const Handler& handle) {
  Bytes bytes;
  iovec place{.iov_base = bytes.data(), .iov_len = bytes.size()};
  // Room for the credentials only, so descriptors that a sender adds are not accepted.
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(ucred))> control;
  msghdr message{};
  message.msg_iov = &place;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t size = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0) return false;
  const std::optional<uid_t> sender = SenderOf(message);
  if (!sender || !trusted_.IsTrusted(*sender, now)) {
    ++counters_.untrusted;
    return true;
  }
  const bool is_cut = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
  const auto mad = ForwardedMad::Parse(std::span(bytes).first(static_cast<size_t>(size)));
  if (is_cut || !mad || !ports.Has(mad->service)) {
    ++counters_.malformed;
    return true;
  }
  ++counters_.received;
  handle(*mad);
  return true;
}

}  // namespace verbena::adapter
