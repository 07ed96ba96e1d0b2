#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "fabric/datagram.h"
#include "fabric/socket_address.h"

namespace verbena::fabric {

// The control messages (cmsg) of a message to or from the kernel. A value type.
//
// The buffer is aligned for cmsghdr and has room for the larger of the two directions.
class ControlMessages {
 public:
  // An empty buffer, for the kernel to fill.
  ControlMessages() = default;

  // Writes the control messages for datagrams on `route` from a socket of `family`: the source
  // unless the kernel chooses it by itself, the traffic class and the hop limit unless they are 0,
  // and the size of the datagrams (UDP_SEGMENT) unless `segment_size` is 0.
  void Encode(SocketFamily family, const Route& route, uint16_t segment_size);

  [[nodiscard]] std::byte* data() { return bytes_.data(); }
  // Bytes that Encode has written.
  [[nodiscard]] size_t size() const { return size_; }

  static constexpr size_t kCapacity = 128;

 private:
  template <class T>
  void Append(int level, int type, const T& value);

  alignas(cmsghdr) std::array<std::byte, kCapacity> bytes_{};
  size_t size_ = 0;
};

// What the kernel says about a message that it delivers. A value type.
struct Arrival {
  IpAddress to;  // unspecified unless the socket asks for it
  uint32_t interface = 0;
  uint8_t traffic_class = 0;
  uint16_t segment_size = 0;  // of each datagram in the message; 0 for a single one
};

[[nodiscard]] Arrival DecodeArrival(const msghdr& message);

}  // namespace verbena::fabric
