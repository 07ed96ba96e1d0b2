#pragma once

#include <cstddef>
#include <vector>

#include "tests/support/wire_packets.h"
#include "wire/mad/ip_cm.h"
#include "wire/udp_flow.h"

namespace verbena::wire {

// Makes `req` a request of the RDMA IP CM service for TCP port `port`.
inline void MakeIpCm(const UdpFlow& flow, uint16_t port, CmReq& req) {
  req.service_id = ServiceIdOf({.protocol = IpCmProtocol::kTcp, .port = port});
  req.primary.local_gid = flow.source;
  req.primary.remote_gid = flow.destination;
  IpCmHeader{.source_port = 0xABCD, .source = flow.source, .destination = flow.destination}
      .Serialize(req.private_data.bytes);
}

// The UD packet with this MAD from `source` to the GSI queue pair, with the ICRC for `flow`.
inline std::vector<std::byte> PacketOf(const CmMad& mad, const UdpFlow& flow,
                                       QpNumber source = kGeneralServicesQp) {
  const Bth bth{.opcode = Opcode(0x64),  // UD SEND ONLY
                .dest_qp = kGeneralServicesQp,
                .psn = Psn(1)};
  const Deth deth{.q_key = kGeneralServicesQKey, .source_qp = source};
  std::vector<std::byte> packet = BuildPacket(bth, mad.ToBytes(), deth);
  Seal(flow.HeadersFor(packet.size()).bytes(), packet);
  return packet;
}

}  // namespace verbena::wire
