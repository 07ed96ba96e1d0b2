#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "wire/roce/packet.h"

namespace verbena::transport {

// A copy of the packet that met absent pages. The responder executes it when they are present, so
// the requester need not retransmit it. Owned by a responder.
class WaitingPacket {
 public:
  // After this, Hold allocates no memory for packets of up to this size.
  void Reserve(size_t size) { bytes_.reserve(size); }

  void Hold(const wire::Packet& packet) {
    const auto bytes = packet.bytes();
    if (is_kept_ && bytes.data() == bytes_.data()) return;  // held already: pages absent again
    bytes_.assign(bytes.begin(), bytes.end());
    is_kept_ = true;
  }
  void Drop() { is_kept_ = false; }

  // Valid until the next call of Hold with another packet.
  [[nodiscard]] std::optional<wire::Packet> packet() const {
    if (!is_kept_) return std::nullopt;
    return wire::Packet::Parse(bytes_);
  }

 private:
  std::vector<std::byte> bytes_;
  bool is_kept_ = false;
};

}  // namespace verbena::transport
