#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>

#include "wire/roce/icrc.h"
#include "wire/udp_flow.h"

namespace verbena::adapter {

// The part of the ICRC that depends on who talks to whom, kept for the flows in use: to make it
// anew costs more than the ICRC of a short packet. One place per hash, the newest flow has it.
//
// One thread at a time: the engine.
class FlowCache {
 public:
  // For a packet of `packet_size` bytes with this identification, of IPv4. Good until the next
  // call.
  [[nodiscard]] const wire::PseudoHeader& Find(const wire::UdpFlow& flow, size_t packet_size,
                                               uint16_t identification) {
    std::optional<Entry>& entry = (*entries_)[IndexOf(flow)];
    if (!entry || entry->flow != flow) entry.emplace(flow);
    entry->header.set_packet_size(packet_size);
    entry->header.set_identification(identification);
    return entry->header;
  }

 private:
  static constexpr size_t kEntries = 256;

  struct Entry {
    explicit Entry(const wire::UdpFlow& of) : flow(of), header(of.HeadersFor(0).bytes()) {}

    wire::UdpFlow flow;
    wire::PseudoHeader header;
  };

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
