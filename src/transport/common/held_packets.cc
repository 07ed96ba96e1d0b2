#include "transport/common/held_packets.h"

#include "base/check.h"
#include "base/when_memory.h"

namespace verbena::transport {

bool HeldPackets::Hold(const wire::Packet& packet, const PacketOrigin& origin) {
  const auto bytes = packet.bytes();
  if (bytes.size() > kBytesMax - size_ || packets_.size() == kPacketsMax) return false;
  if (!WhenMemory([&] { packets_.push_back({{bytes.begin(), bytes.end()}, origin}); }))
    return false;
  size_ += bytes.size();
  return true;
}

wire::Packet HeldPackets::oldest() const {
  const auto packet = wire::Packet::Parse(packets_.front().bytes);
  CHECK(packet.has_value());
  return *packet;
}

void HeldPackets::DropOldest() {
  size_ -= packets_.front().bytes.size();
  packets_.pop_front();
}

void HeldPackets::Clear() {
  packets_.clear();
  size_ = 0;
}

bool HeldPackets::IsConsistent() const {
  return size_ <= kBytesMax && packets_.size() <= kPacketsMax && packets_.empty() == (size_ == 0);
}

}  // namespace verbena::transport
