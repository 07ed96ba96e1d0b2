// Writes one MAD of every message of the connection manager, over IPv4 and over IPv6, as a UD
// packet to the GSI queue pair, for tshark to decode:
//
//   cm_capture FILE.pcapng
//
// and prints a line per packet: the number of the frame, the name of the message, and name=value
// for each field. The names are those of Wireshark.

#include <array>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/cm_messages.h"
#include "tests/support/cm_packets.h"
#include "wire/mad/ip_cm.h"
#include "wire/pcap.h"

namespace verbena::wire {
namespace {

constexpr UdpFlow kIpv4{.source = IpAddress::FromIpv4(Ipv4Address(0x0A000001)),
                        .destination = IpAddress::FromIpv4(Ipv4Address(0x0A000002)),
                        .source_port = 0xC123,
                        .destination_port = kRocePort};
constexpr UdpFlow kIpv6{.source = {{0xFD, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
                        .destination = {{0xFD, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}},
                        .source_port = 0xC123,
                        .destination_port = kRocePort};

template <std::size_t kSize>
std::string HexOf(const std::array<std::byte, kSize>& bytes) {
  std::ostringstream text;
  for (const std::byte byte : bytes) {
    text << std::hex << std::setw(2) << std::setfill('0') << std::to_integer<unsigned>(byte);
  }
  return text.str();
}

std::string HexOf(const IpAddress& address) {
  return HexOf(std::bit_cast<std::array<std::byte, 16>>(address.bytes));
}

// The fields of one packet, as text. `prefix` precedes their names in Wireshark.
class Line {
 public:
  explicit Line(const char* prefix) : prefix_(prefix) {}

  Line& Add(const char* name, uint64_t value) { return Add(name, std::to_string(value)); }
  // Bytes, in hexadecimal.
  template <std::size_t kSize>
  Line& Add(const char* name, const PrivateData<kSize>& data) {
    return Add(name, "hex:" + HexOf(data.bytes));
  }
  Line& Add(const char* name, const IpAddress& address) {
    return Add(name, "hex:" + HexOf(address));
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  Line& Add(const char* name, const std::string& value) {
    text_ += std::string("\tinfiniband.") + prefix_ + name + "=" + value;
    return *this;
  }

  const char* prefix_;
  std::string text_;
};

void AddPath(const CmPath& path, bool is_primary, Line& line) {
  const auto add = [&](const char* name, const auto& value) {
    line.Add((std::string(is_primary ? ".prim_" : ".alt_") + name).c_str(), value);
  };
  add("locallid", path.local_lid.value());
  add("remotelid", path.remote_lid.value());
  add("localgid", path.local_gid);
  add("remotegid", path.remote_gid);
  add("flowlabel", path.flow_label);
  add("pktrate", path.packet_rate);
  add("tfcclass", path.traffic_class);
  add("hoplim", path.hop_limit);
  add("sl", path.sl);
  add("subnetlocal", uint64_t{path.subnet_local});
  add("localacktout", path.ack_timeout.value());
}

std::string Describe(const CmReq& req) {
  Line line("cm.req");
  line.Add("", req.local_comm_id.value())
      .Add(".serviceid.protocol", req.service_id.value() >> 16 & 0xFF)
      .Add(".serviceid.dport", req.service_id.value() & 0xFFFF)
      .Add(".localcaguid", req.local_ca_guid.value())
      .Add(".localqkey", req.local_q_key.value())
      .Add(".localqpn", req.local_qp.value())
      .Add(".responderres", req.responder_resources)
      .Add(".localeecn", req.local_eecn.value())
      .Add(".initdepth", req.initiator_depth)
      .Add(".remoteeecn", req.remote_eecn.value())
      .Add(".remoteresptout", req.remote_response_timeout.value())
      .Add(".transpsvctype", static_cast<uint64_t>(req.service_type))
      .Add(".e2eflowctrl", uint64_t{req.flow_control})
      .Add(".startpsn", req.starting_psn.value())
      .Add(".localresptout", req.local_response_timeout.value())
      .Add(".retrcount", req.retry_count)
      .Add(".pkey", req.p_key.value())
      .Add(".pppmtu", req.path_mtu.value())
      .Add(".rdcexist", uint64_t{req.rdc_exists})
      .Add(".rnrretrcount", req.rnr_retry_count)
      .Add(".maxcmretr", req.max_cm_retries)
      .Add(".srq", uint64_t{req.srq})
      .Add(".ext_transport", req.extended_transport);
  AddPath(req.primary, true, line);
  AddPath(req.alternate, false, line);
  const auto ip = IpCmHeader::Parse(req.private_data.bytes);
  line.Add(".ip_cm.majv", IpCmHeader::kMajorVersion)
      .Add(".ip_cm.minv", ip->minor_version)
      .Add(".ip_cm.sport", ip->source_port);
  const bool is_ipv4 = ip->source.ipv4().has_value();
  line.Add(".ip_cm.ipv", is_ipv4 ? 4 : 6);
  if (is_ipv4) {
    line.Add(".ip_cm.sip4", ip->source.ipv4()->value());
    line.Add(".ip_cm.dip4", ip->destination.ipv4()->value());
  } else {
    line.Add(".ip_cm.sip6", ip->source).Add(".ip_cm.dip6", ip->destination);
  }
  line.Add(".ip_cm.private",
           PrivateData<56>::Load(std::span(req.private_data.bytes).subspan(IpCmHeader::kSize)));
  return line.text();
}

std::string Describe(const CmRep& rep) {
  return Line("cm.rep")
      .Add("", rep.local_comm_id.value())
      .Add(".remotecommid", rep.remote_comm_id.value())
      .Add(".localqkey", rep.local_q_key.value())
      .Add(".localqpn", rep.local_qp.value())
      .Add(".localeecn", rep.local_eecn.value())
      .Add(".startpsn", rep.starting_psn.value())
      .Add(".respres", rep.responder_resources)
      .Add(".initdepth", rep.initiator_depth)
      .Add(".tgtackdelay", rep.target_ack_delay.value())
      .Add(".failoveracc", rep.failover)
      .Add(".e2eflowctrl", uint64_t{rep.flow_control})
      .Add(".rnrretrcount", rep.rnr_retry_count)
      .Add(".srq", uint64_t{rep.srq})
      .Add(".localcaguid", rep.local_ca_guid.value())
      .Add(".private", rep.private_data)
      .text();
}

std::string Describe(const CmRej& rej) {
  return Line("cm.rej")
      .Add(".localcommid", rej.local_comm_id.value())
      .Add(".remotecommid", rej.remote_comm_id.value())
      .Add(".msgrej", static_cast<uint64_t>(rej.rejected))
      .Add(".rejinfolen", rej.info_length)
      .Add(".reason", static_cast<uint64_t>(rej.reason))
      .Add(".ari", rej.info)
      .Add(".private", rej.private_data)
      .text();
}

std::string Describe(const CmRtu& rtu) {
  return Line("cm.rtu")
      .Add(".localcommid", rtu.local_comm_id.value())
      .Add(".remotecommid", rtu.remote_comm_id.value())
      .Add(".private", rtu.private_data)
      .text();
}

std::string Describe(const CmDreq& dreq) {
  return Line("cm.dreq")
             .Add(".localcommid", dreq.local_comm_id.value())
             .Add(".remotecommid", dreq.remote_comm_id.value())
             .Add(".private", dreq.private_data)
             .text() +
         Line("cm.req").Add(".remoteqpneecn", dreq.remote_qp.value()).text();
}

std::string Describe(const CmDrep& drep) {
  return Line("cm.drsp")
      .Add(".localcommid", drep.local_comm_id.value())
      .Add(".remotecommid", drep.remote_comm_id.value())
      .Add(".private", drep.private_data)
      .text();
}

// Of other messages Wireshark shows the bytes only.
template <class Message>
std::string Describe(const Message& message) {
  std::array<std::byte, Message::kSize> bytes;
  message.Serialize(bytes);
  return Line("mad").Add(".data", PrivateData<Message::kSize>{bytes}).text();
}

void WriteAll(PcapngWriter& writer) {
  Random random(1);
  int frame = 0;
  for (const UdpFlow& flow : {kIpv4, kIpv6}) {
    for (CmMessage& message : DrawAllCmMessages(random)) {
      if (auto* const req = std::get_if<CmReq>(&message)) MakeIpCm(flow, 7174, *req);
      const CmMad mad{TransactionId(random.Next64()), message};
      writer.WriteUdp(Time(Microseconds(++frame)), flow, PacketOf(mad, flow));
      std::visit(
          [&](const auto& held) {
            const std::string text = ToString(held);
            std::cout << "frame.number=" << frame << "\tname=" << text.substr(0, text.find(' '))
                      << "\tinfiniband.bth.destqp=1\tinfiniband.deth.q_key=2147549184"
                      << "\tinfiniband.mad.mgmtclass=7\tinfiniband.mad.method=3"
                      << "\tinfiniband.mad.transactionid=" << mad.transaction.value()
                      << "\tinfiniband.mad.attributeid=" << static_cast<unsigned>(held.kAttribute)
                      << Describe(held) << "\n";
          },
          message);
    }
  }
}

}  // namespace
}  // namespace verbena::wire

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: cm_capture FILE.pcapng\n";
    return 2;
  }
  std::ofstream file(argv[1], std::ios::binary);
  verbena::wire::PcapngWriter writer([&file](std::span<const std::byte> bytes) {
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  });
  verbena::wire::WriteAll(writer);
  file.close();
  return file.good() ? 0 : 1;
}
