#pragma once

#include <cstddef>
#include <list>
#include <vector>

#include "transport/common/packet_origin.h"
#include "wire/roce/packet.h"

namespace verbena::transport {

// Copies of packets of unreliable services that wait for pages, in the order of arrival: their
// sender does not retransmit them. Takes no memory while it is empty. Owned by a responder.
class HeldPackets {
 public:
  // About what a fast network delivers in the milliseconds that a disk takes. Limits the memory
  // that a peer can make this process use.
  static constexpr size_t kBytesMax = size_t{4} << 20;
  // As many as packets of the smallest path MTU: limits empty packets, which take memory, too.
  static constexpr size_t kPacketsMax = kBytesMax / 256;

  // That one step executes at most, so that other queue pairs get to run in between.
  static constexpr int kAtOnce = 64;

  // False if there is no room for the packet.
  [[nodiscard]] bool Hold(const wire::Packet& packet, const PacketOrigin& origin = {});

  [[nodiscard]] bool empty() const { return packets_.empty(); }
  // REQUIRES: not empty(). Valid until the packet is dropped.
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
  size_t size_ = 0;  // bytes of all packets
};

}  // namespace verbena::transport
