#include "fabric/address_watch.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "fabric/interfaces.h"

namespace verbena::fabric {
namespace {

FileDescriptor OpenFile() {
  FileDescriptor file(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
  sockaddr_nl wanted{};
  wanted.nl_family = AF_NETLINK;
  wanted.nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR;
  const auto* const address = reinterpret_cast<const sockaddr*>(&wanted);
  if (!file.is_open() || bind(file.get(), address, sizeof wanted) != 0) return {};
  return file;
}

}  // namespace

AddressWatch::AddressWatch() : file_(OpenFile()) {
  if (file_.is_open()) known_ = Present();
}

AddressWatch::Addresses AddressWatch::Present() {
  Addresses present;
  const auto found = LocalAddresses();
  if (!found) return present;
  for (const LocalAddress& address : *found) {
    present.emplace_back(address.ip, address.interface_index);
  }
  return present;
}

bool AddressWatch::HasChanged() {
  // Any message leads to a comparison, so neither its contents nor an overflow (ENOBUFS) matters.
  std::array<std::byte, 4'096> message;
  bool has_news = false;
  while (recv(file_.get(), message.data(), message.size(), 0) >= 0 || errno == ENOBUFS) {
    has_news = true;
  }
  if (!has_news) return false;
  Addresses present = Present();
  if (present == known_) return false;
  known_ = std::move(present);
  return true;
}

}  // namespace verbena::fabric
