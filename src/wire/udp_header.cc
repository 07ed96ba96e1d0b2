#include "wire/udp_header.h"

#include "wire/text.h"

namespace verbena::wire {

std::string ToString(const UdpHeader& header) {
  return "UDP " + std::to_string(header.source_port) + " -> " +
         std::to_string(header.destination_port) + ", length " + std::to_string(header.length) +
         ", checksum " + Hex(header.checksum, 4);
}

}  // namespace verbena::wire
