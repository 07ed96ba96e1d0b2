#include "wire/tcp_header.h"

namespace verbena::wire {

std::string ToString(const TcpHeader& header) {
  std::string text = "TCP " + std::to_string(header.source_port) + " -> " +
                     std::to_string(header.destination_port) + ", sequence " +
                     std::to_string(header.sequence);
  if (header.ack) text += ", ACK " + std::to_string(header.acknowledgment);
  if (header.syn) text += ", SYN";
  if (header.fin) text += ", FIN";
  if (header.reset) text += ", RST";
  return text + ", window " + std::to_string(header.window);
}

}  // namespace verbena::wire
