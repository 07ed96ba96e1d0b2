#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "fabric/file_descriptor.h"

namespace verbena {

using fabric::FileDescriptor;

// An ordinary socket that waits, at most 20 s.
class PlainSocket {
 public:
  explicit PlainSocket(FileDescriptor file) : file_(std::move(file)) {
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    setsockopt(fd(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  }
  static PlainSocket Open() { return PlainSocket(FileDescriptor(socket(AF_INET, SOCK_STREAM, 0))); }
  static PlainSocket To(uint16_t port) {
    PlainSocket made = Open();
    const sockaddr_in at = Address(port);
    EXPECT_EQ(connect(made.fd(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    return made;
  }
  uint16_t Listen() const {
    sockaddr_in at = Address(0);
    socklen_t size = sizeof at;
    EXPECT_EQ(bind(fd(), reinterpret_cast<const sockaddr*>(&at), size), 0);
    EXPECT_EQ(listen(fd(), 4), 0);
    EXPECT_EQ(getsockname(fd(), reinterpret_cast<sockaddr*>(&at), &size), 0);
    return ntohs(at.sin_port);
  }
  PlainSocket Accept() const { return PlainSocket(FileDescriptor(accept(fd(), nullptr, nullptr))); }

  int fd() const { return file_.get(); }
  void Say(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = send(fd(), text.data(), text.size(), MSG_NOSIGNAL);
      ASSERT_GT(sent, 0);
      text.remove_prefix(static_cast<size_t>(sent));
    }
  }
  std::string Hear(size_t size) const {
    std::string text(size, 0);
    EXPECT_EQ(recv(fd(), text.data(), size, MSG_WAITALL), static_cast<ssize_t>(size));
    return text;
  }
  // 0: the peer has ended its direction. -1: it has reset the connection.
  ssize_t HearMore() const {
    char byte = 0;
    return recv(fd(), &byte, 1, 0);
  }
  void End() const { shutdown(fd(), SHUT_WR); }
  void Reset() {
    const linger now{.l_onoff = 1, .l_linger = 0};
    setsockopt(fd(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
    file_ = FileDescriptor();
  }
  void Close() { file_ = FileDescriptor(); }

 private:
  static sockaddr_in Address(uint16_t port) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return at;
  }
  FileDescriptor file_;
};

}  // namespace verbena
