#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>

#include "base/check.h"
#include "wire/roce/icrc.h"
#include "wire/udp_flow.h"

namespace verbena::adapter {

// Which IPv4 identifications a sender is known to use. The kernel of a Verbena peer numbers the
// segments of a message from 0 (docs/fabric.md); other adapters use any number. If a sender
// normally uses small ones, a packet whose ICRC is right only with a large one counts as corrupted:
// one corrupted packet in 65,536 has the right ICRC for some identification.
//
// A value type.
class IdentificationTrust {
 public:
  static constexpr uint16_t kSmallEnd = 64;  // a message has at most this many segments

  // Records a packet whose ICRC was right with this identification. False if the packet should
  // count as corrupted nevertheless.
  bool Believes(uint16_t identification) {
    if (identification < kSmallEnd) [[likely]] {
      if (small_ < kSmallMax) ++small_;
      return true;
    }
    // Another sender can take over the address and port: it is believed after some packets.
    const bool believed = small_ < kUsual;
    small_ -= std::min(small_, kPerLarge);
    return believed;
  }

 private:
  static constexpr uint8_t kSmallMax = 16, kUsual = 8, kPerLarge = 4;

  uint8_t small_ = 0;  // how common small identifications are
};

// Caches, per flow in use, the pseudo header that the ICRC begins with: computing it costs more
// than the ICRC of a short packet. Direct-mapped: a new flow replaces the flow with the same hash.
//
// One thread at a time: the engine.
class FlowCache {
 public:
  struct Entry {
    explicit Entry(const wire::UdpFlow& of) : flow(of), header(of.HeadersFor(0).bytes()) {}

    wire::UdpFlow flow;
    wire::PseudoHeader header;
    IdentificationTrust identifications;
  };

  // The entry for a packet of `packet_size` bytes with this IPv4 identification. Valid until the
  // next call.
  [[nodiscard]] Entry& Find(const wire::UdpFlow& flow, size_t packet_size,
                            uint16_t identification) {
    std::optional<Entry>& entry = (*entries_)[IndexOf(flow)];
    if (!entry || entry->flow != flow) entry.emplace(flow);
    DCHECK(packet_size <= UINT16_MAX);
    entry->header.set_packet_size(packet_size);
    entry->header.set_identification(identification);
    return *entry;
  }

  // Each flow is in the entry that its hash selects.
  [[nodiscard]] bool IsConsistent() const {
    for (size_t i = 0; i < kEntries; ++i) {
      const std::optional<Entry>& entry = (*entries_)[i];
      if (entry && IndexOf(entry->flow) != i) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kEntries = 256;

  // The last bytes of addresses differ most.
  static size_t IndexOf(const wire::UdpFlow& flow) {
    uint64_t from = 0, to = 0;
    std::memcpy(&from, &flow.source.bytes[8], sizeof from);
    std::memcpy(&to, &flow.destination.bytes[8], sizeof to);
    const uint64_t ports = uint64_t{flow.source_port} << 16 | flow.destination_port;
    const uint64_t mixed = (from * 31 + to * 17 + ports) * 0x9E37'79B9'7F4A'7C15;
    return static_cast<size_t>(mixed >> 56);
  }
  static_assert(kEntries == 1U << 8);

  std::unique_ptr<std::array<std::optional<Entry>, kEntries>> entries_ =
      std::make_unique<std::array<std::optional<Entry>, kEntries>>();
};

}  // namespace verbena::adapter
