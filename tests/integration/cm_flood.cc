// Floods a connection manager: sends well-formed REQs, each with its own communication ID, queue
// pair and adapter, to UDP port 4791 as fast as the socket allows, and answers nothing.
//
// usage: cm_flood ADDRESS PORT COUNT [SOURCE]     prints {"sent": N}

#include <arpa/inet.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "adapter/port_map.h"
#include "base/file_descriptor.h"
#include "tests/support/cm_messages.h"
#include "tests/support/cm_packets.h"

namespace verbena::wire {
namespace {

sockaddr_in Name(const char* text, uint16_t port) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  if (inet_pton(AF_INET, text, &name.sin_addr) != 1) std::exit(2);
  return name;
}

IpAddress IpOf(const sockaddr_in& name) {
  return IpAddress::FromIpv4(Ipv4Address(ntohl(name.sin_addr.s_addr)));
}

// A sender that looks like a Verbena process: queue pair 1 and its UDP port.
struct Sender {
  FileDescriptor file;
  UdpFlow flow;
  QpNumber qp;
};

Sender Connect(const char* source, const char* address) {
  constexpr uint32_t kEndpoints = 4096, kQpBits = 12;
  const sockaddr_in to = Name(address, kRocePort);
  socklen_t size = sizeof to;
  for (uint32_t endpoint = kEndpoints - 1; endpoint > 0; --endpoint) {
    const QpNumber qp(endpoint << kQpBits | kGeneralServicesQp.value());
    const uint16_t port = adapter::PortMap().SourcePortOf(qp);
    const sockaddr_in from = Name(source, port);
    FileDescriptor file(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (bind(file.get(), reinterpret_cast<const sockaddr*>(&from), size) != 0) continue;
    if (connect(file.get(), reinterpret_cast<const sockaddr*>(&to), size) != 0) break;
    return {std::move(file),
            {.source = IpOf(from),
             .destination = IpOf(to),
             .source_port = port,
             .destination_port = kRocePort},
            qp};
  }
  std::perror("cm_flood");
  std::exit(1);
}

std::vector<std::byte> DrawRequest(const Sender& sender, uint16_t port, Random& random) {
  CmReq req = DrawCmReq(random);
  req.service_type = CmServiceType::kRc;
  req.extended_transport = 0;
  req.path_mtu = CmMtu(3);
  // The other side gives up after 4 times 134 ms.
  req.local_response_timeout = req.remote_response_timeout = CmTimeout(15);
  req.max_cm_retries = 3;
  req.primary.ack_timeout = AckTimeout(14);
  MakeIpCm(sender.flow, port, req);
  return PacketOf({TransactionId(random.Next64()), req}, sender.flow, sender.qp);
}

int Flood(const char* address, uint16_t port, int count, const char* source) {
  const Sender sender = Connect(source, address);
  Random random(1);
  int sent = 0;
  for (int i = 0; i < count; ++i) {
    const std::vector<std::byte> packet = DrawRequest(sender, port, random);
    sent += send(sender.file.get(), packet.data(), packet.size(), 0) > 0 ? 1 : 0;
  }
  std::printf("{\"sent\": %d}\n", sent);
  return 0;
}

}  // namespace
}  // namespace verbena::wire

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) {
    std::fprintf(stderr, "usage: cm_flood ADDRESS PORT COUNT [SOURCE]\n");
    return 2;
  }
  return verbena::wire::Flood(argv[1], static_cast<uint16_t>(std::atoi(argv[2])),
                              std::atoi(argv[3]), argc == 5 ? argv[4] : "127.0.0.1");
}
