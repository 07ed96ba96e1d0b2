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
  // A thousand datagrams of 4 KiB, including the kernel's overhead.
  uint32_t send_buffer_bytes = 4 << 20;
  uint32_t receive_buffer_bytes = 4 << 20;
  bool ipv6 = true;      // if the kernel has it
  bool offloads = true;  // if the kernel has them
};

// A UDP socket for RoCEv2 on all local addresses. One socket serves IPv4 and IPv6, so that a burst
// with both is one system call.
//
// It never fragments: DF is set, and a datagram longer than the path MTU is refused (EMSGSIZE). It
// is never connected, so the kernel gives every IPv4 datagram the identification 0, and 0, 1, 2,
// ... to the segments of one message; the ICRC depends on it.
//
// Its owner guards it; another thread may wait for the descriptor.
class UdpSocket {
 public:
  [[nodiscard]] static ErrorOr<UdpSocket> Open(const UdpSocketOptions& options);

  // Binds `port` on all addresses, exclusively. After a failure another port can be tried.
  [[nodiscard]] ErrorOr<void> Bind(uint16_t port);

  // From now on the kernel reports the destination, the incoming interface and the traffic class of
  // datagrams. It costs every receive a little.
  void ReportHeaders();

  [[nodiscard]] int fd() const { return file_.get(); }
  [[nodiscard]] SocketFamily family() const { return family_; }
  // Whether the kernel segments messages, and coalesces received datagrams.
  [[nodiscard]] bool segmentation() const { return segmentation_; }
  [[nodiscard]] bool coalescing() const { return coalescing_; }

  // Settings that the kernel did not grant, and how to change that; one line each.
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
