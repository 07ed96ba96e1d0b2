#pragma once

#include <cstddef>
#include <list>
#include <vector>

#include "transport/common/packet_origin.h"
#include "wire/roce/packet.h"

namespace verbena::transport {

// Copies of packets that are not retransmitted, in the order in which they came, while they wait
// for pages. Takes no memory while it is empty. Owned by a responder.
class HeldPackets {
 public:
  // What a fast network brings in the milliseconds that a disk takes. A bound is needed for what a
  // peer can have us hold.
  static constexpr size_t kBytesMax = size_t{4} << 20;
  // As many of the smallest path MTU: empty ones, of which each takes memory of its own, are not
  // more.
  static constexpr size_t kPacketsMax = kBytesMax / 256;

  // False if there is no room for it.
  [[nodiscard]] bool Hold(const wire::Packet& packet, const PacketOrigin& origin = {});

  [[nodiscard]] bool empty() const { return packets_.empty(); }
  // REQUIRES: it is not empty. Valid until that one is dropped.
  [[nodiscard]] wire::Packet oldest() const;
  [[nodiscard]] const PacketOrigin& oldest_origin() const { return packets_.front().origin; }
  void DropOldest();
  void Clear();

  [[nodiscard]] bool IsConsistent() const;

 private:
  struct Kept {
    std::vector<std::byte> bytes;
    PacketOrigin origin;
  };

  std::list<Kept> packets_;
  size_t size_ = 0;  // bytes of all
};

}  // namespace verbena::transport
