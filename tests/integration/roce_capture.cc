// Writes one packet of every opcode, over IPv4 and over IPv6, for tshark to decode:
//
//   roce_capture FILE.pcapng
//
// and prints a line per packet: the number of the frame, the IP version, and name=value for each
// field. The names are those of Wireshark.

#include <fstream>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "tests/support/wire_packets.h"
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

// The fields of one packet, as text.
class Line {
 public:
  explicit Line(const OpcodeInfo& info) : info_(info) {}

  template <class Header, class... Fields>
  void AddHeader(const Header& /*header*/, Fields... fields) {
    if (info_.Has(Header::kExtension)) (Add(fields.first, fields.second), ...);
  }
  void Add(const char* name, uint64_t value) {
    text_ += std::string("\t") + name + "=" + std::to_string(value);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  const OpcodeInfo& info_;
  std::string text_;
};

std::pair<const char*, uint64_t> Field(const char* name, uint64_t value) { return {name, value}; }

std::string Describe(const OpcodeInfo& info, const AllHeaders& h, std::size_t payload_size) {
  Line line(info);
  line.Add("infiniband.bth.opcode", h.bth.opcode.value());
  line.Add("infiniband.bth.se", h.bth.solicited_event ? 1 : 0);
  line.Add("infiniband.bth.m", h.bth.migration_request ? 1 : 0);
  line.Add("infiniband.bth.padcnt", PadFor(payload_size));
  line.Add("infiniband.bth.tver", 0);
  line.Add("infiniband.bth.p_key", h.bth.p_key.value());
  line.Add("infiniband.bth.destqp", h.bth.dest_qp.value());
  line.Add("infiniband.bth.a", h.bth.ack_request ? 1 : 0);
  line.Add("infiniband.bth.psn", h.bth.psn.value());
  line.AddHeader(h.rdeth, Field("infiniband.rdeth.eecnxt", h.rdeth.ee_context.value()));
  line.AddHeader(h.deth, Field("infiniband.deth.q_key", h.deth.q_key.value()),
                 Field("infiniband.deth.srcqp", h.deth.source_qp.value()));
  line.AddHeader(h.reth, Field("infiniband.reth.va", h.reth.address.value()),
                 Field("infiniband.reth.r_key", h.reth.r_key.value()),
                 Field("infiniband.reth.dmalen", h.reth.dma_length));
  line.AddHeader(h.atomic_eth, Field("infiniband.reth.va", h.atomic_eth.address.value()),
                 Field("infiniband.reth.r_key", h.atomic_eth.r_key.value()),
                 Field("infiniband.atomiceth.swapdt", h.atomic_eth.swap_or_add),
                 Field("infiniband.atomiceth.cmpdt", h.atomic_eth.compare));
  line.AddHeader(h.aeth, Field("infiniband.aeth.syndrome", h.aeth.syndrome.byte()),
                 Field("infiniband.aeth.msn", h.aeth.msn.value()));
  line.AddHeader(h.atomic_ack_eth,
                 Field("infiniband.atomicacketh.origremdt", h.atomic_ack_eth.original));
  line.AddHeader(h.immdt, Field("infiniband.immdt", h.immdt.data));
  line.AddHeader(h.ieth, Field("infiniband.ieth", h.ieth.r_key.value()));
  return line.text();
}

std::size_t PayloadSizeFor(const OpcodeInfo& info, Random& random) {
  switch (info.payload) {
    case PayloadRule::kNone:
      return 0;
    case PayloadRule::kPathMtu:
      return 256;
    case PayloadRule::kSome:
      return random.Between(1, 256);
    case PayloadRule::kAny:
      return random.Below(257);
    case PayloadRule::kEightBytes:
      return 8;
    case PayloadRule::kReserved16:
      return 16;
  }
  UNREACHABLE();
}

void WriteAll(PcapngWriter& writer) {
  Random random(1);
  int frame = 0;
  for (const UdpFlow& flow : {kIpv4, kIpv6}) {
    for (const OpcodeInfo* info : AllOpcodes()) {
      const AllHeaders headers = AllHeaders::Draw(*info, random);
      const auto payload = RandomBytes(random, PayloadSizeFor(*info, random));
      std::vector<std::byte> packet = BuildPacket(*info, headers, payload);
      Seal(flow.HeadersFor(packet.size()).bytes(), packet);
      writer.WriteUdp(Time(Microseconds(++frame)), flow, packet);
      std::cout << "frame.number=" << frame << "\tname=" << info->name()
                << "\tip=" << (flow.source.ipv4() ? 4 : 6)
                << "\tinfiniband.invariant.crc=" << LoadIcrc(std::span(packet).last(4)).value()
                << Describe(*info, headers, payload.size()) << "\n";
    }
  }
}

}  // namespace
}  // namespace verbena::wire

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: roce_capture FILE.pcapng\n";
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
