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

// What accompanies a message to or from the kernel besides its bytes and its peer. A value type.
//
// Aligned as the kernel's headers in it must be; the size is the largest of either direction.
class ControlMessages {
 public:
  // Empty: for the kernel to fill.
  ControlMessages() = default;

  // What accompanies datagrams to be sent on `route` from a socket of `family`: the source unless
  // it is the usual one, the traffic class and the hop limit unless they are 0, and their size if
  // the kernel is to cut the message at `segment_size`, 0 if not.
  void Encode(SocketFamily family, const Route& route, uint16_t segment_size);

  [[nodiscard]] std::byte* data() { return bytes_.data(); }
  // Of what Encode has written.
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
  IpAddress to;  // unspecified if it was not asked for
  uint32_t interface = 0;
  uint8_t traffic_class = 0;
  uint16_t segment_size = 0;  // of the datagrams that are in it; 0 for a single one
};

[[nodiscard]] Arrival DecodeArrival(const msghdr& message);

}  // namespace verbena::fabric
