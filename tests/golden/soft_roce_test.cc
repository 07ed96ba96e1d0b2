// Packets that a Linux kernel's Soft-RoCE sent, read by our parser and checked with our ICRC. See
// soft_roce/README.md.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"
#include "wire/ipv4_header.h"
#include "wire/ipv6_header.h"
#include "wire/roce/packet.h"
#include "wire/roce/types.h"
#include "wire/udp_header.h"

namespace verbena::wire {
namespace {

namespace fs = std::filesystem;

struct Datagram {
  std::vector<std::byte> bytes;  // from the IP header
  bool is_ipv4;

  [[nodiscard]] std::span<const std::byte> ip_and_udp() const {
    return std::span(bytes).first((is_ipv4 ? Ipv4Header::kSize : Ipv6Header::kSize) +
                                  UdpHeader::kSize);
  }
  [[nodiscard]] std::span<const std::byte> packet() const {
    return std::span(bytes).subspan(ip_and_udp().size());
  }
};

// The recorded packets by name, such as "ipv4_rc_send_only".
std::map<std::string, Datagram> Recorded() {
  std::map<std::string, Datagram> recorded;
  for (const auto& entry : fs::directory_iterator(VERBENA_GOLDEN "/soft_roce")) {
    if (entry.path().extension() != ".hex") continue;
    std::ifstream file(entry.path());
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const std::string name = entry.path().stem().string();
    recorded[name] = {FromHex(text), name.starts_with("ipv4")};
  }
  return recorded;
}

TEST(SoftRoceTest, RecordedBothKindsOfEachPacket) { EXPECT_EQ(Recorded().size(), 2 * 15u); }

TEST(SoftRoceTest, AgreesWithOurIcrc) {
  for (const auto& [name, datagram] : Recorded()) {
    const auto packet = Packet::Parse(datagram.packet());
    ASSERT_TRUE(packet) << name;
    EXPECT_EQ(IcrcOf(datagram.ip_and_udp(), packet->covered()), packet->icrc()) << name;
  }
}

TEST(SoftRoceTest, SendsWhatTheNameSays) {
  std::set<Opcode> opcodes;
  for (const auto& [name, datagram] : Recorded()) {
    const auto packet = Packet::Parse(datagram.packet());
    ASSERT_TRUE(packet) << name;
    opcodes.insert(packet->bth().opcode);
    EXPECT_TRUE(PayloadFits(packet->info(), packet->payload().size(), 1024)) << name;
    const std::string service = "_" + std::string(packet->info().service_name) + "_";
    const auto same = [](char a, char b) { return std::tolower(a) == b; };
    EXPECT_TRUE(std::equal(service.begin(), service.end(), name.begin() + 4, same)) << name;
  }
  EXPECT_EQ(opcodes.size(), 15u);
}

// A UDP socket does not show the IPv4 identification: the receiver must compute it from the ICRC.
TEST(SoftRoceTest, IdentificationIsFoundFromTheIcrcAlone) {
  for (auto& [name, datagram] : Recorded()) {
    if (!datagram.is_ipv4) continue;
    auto ip = Ipv4Header::Parse(datagram.bytes);
    ASSERT_TRUE(ip) << name;
    const uint16_t identification = ip->identification;
    EXPECT_NE(identification, 0) << name << ": this would show nothing";
    ip->identification = 0;
    Datagram unseen = datagram;
    ip->Serialize(unseen.bytes);
    const auto packet = Packet::Parse(unseen.packet());
    ASSERT_TRUE(packet) << name;
    const Icrc with_zero = IcrcOf(unseen.ip_and_udp(), packet->covered());
    EXPECT_EQ(ExplainIdentification(packet->icrc(), with_zero, packet->size()), identification)
        << name;
  }
}

TEST(SoftRoceTest, HeadersAreRead) {
  for (const auto& [name, datagram] : Recorded()) {
    const auto udp = UdpHeader::Parse(datagram.ip_and_udp().last(UdpHeader::kSize));
    ASSERT_TRUE(udp) << name;
    EXPECT_EQ(udp->destination_port, kRocePort) << name;
    EXPECT_EQ(udp->length, UdpHeader::kSize + datagram.packet().size()) << name;
    EXPECT_TRUE(datagram.is_ipv4 ? Ipv4Header::Parse(datagram.bytes).has_value()
                                 : Ipv6Header::Parse(datagram.bytes).has_value())
        << name;
  }
}

}  // namespace
}  // namespace verbena::wire
