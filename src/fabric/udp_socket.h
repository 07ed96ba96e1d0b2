#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/result.h"
#include "fabric/file_descriptor.h"
#include "fabric/socket_address.h"

namespace verbena::fabric {

struct UdpSocketOptions {
  // A thousand datagrams of 4 KiB; the kernel counts its own overhead, too.
  uint32_t send_buffer_bytes = 4 << 20;
  uint32_t receive_buffer_bytes = 4 << 20;
  bool ipv6 = true;      // where the kernel has it
  bool offloads = true;  // where the kernel has them
};

// A UDP socket as RoCEv2 wants it, for all local addresses. One socket serves IPv4 and IPv6, so
// that a burst of both is one system call.
//
// It never fragments: DF is set, and what is longer than the path takes is refused (EMSGSIZE). It
// is never connected, therefore the kernel gives the identification 0 to every datagram of IPv4,
// and 0, 1, 2, ... to the datagrams that it cuts from one message; the ICRC depends on it.
//
// Its owner guards it; the descriptor may be waited for by another thread.
class UdpSocket {
 public:
  [[nodiscard]] static ErrorOr<UdpSocket> Open(const UdpSocketOptions& options);

  // To `port` on all addresses, for this process alone. May be tried again with another port.
  [[nodiscard]] ErrorOr<void> Bind(uint16_t port);

  // From now on the kernel says where a datagram was sent to, by which interface it came in and
  // which traffic class it had. It costs every receive a little.
  void ReportHeaders();

  [[nodiscard]] int fd() const { return file_.get(); }
  [[nodiscard]] SocketFamily family() const { return family_; }
  // Whether the kernel cuts messages into datagrams, and hands over several as one.
  [[nodiscard]] bool segmentation() const { return segmentation_; }
  [[nodiscard]] bool coalescing() const { return coalescing_; }

  // What is not as it was asked for, and what to do about it; a line each.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  UdpSocket(FileDescriptor file, SocketFamily family) : file_(std::move(file)), family_(family) {}

  ErrorOr<void> Configure();
  void EnableOffloads();
  void SizeBuffer(int option, uint32_t wanted, const char* name, const char* limit);

  FileDescriptor file_;
  SocketFamily family_;
  bool segmentation_ = false;
  bool coalescing_ = false;
  std::vector<std::string> warnings_;
};

}  // namespace verbena::fabric
