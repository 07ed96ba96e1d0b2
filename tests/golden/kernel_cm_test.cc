// Messages that a Linux kernel's connection manager sent: our parser reads them, and our state
// machine responds. See kernel_cm/README.md.

#include <algorithm>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"
#include "transport/cm/cm_manager.h"
#include "wire/ipv4_header.h"
#include "wire/ipv6_header.h"
#include "wire/mad/cm_mad.h"
#include "wire/mad/ip_cm.h"
#include "wire/roce/deth.h"
#include "wire/roce/packet.h"
#include "wire/udp_header.h"

namespace verbena::wire {
namespace {

const std::vector<std::string> kNames = {
    "ipv4_req",      "ipv4_rep",      "ipv4_rtu",  "ipv4_dreq",       "ipv4_drep",
    "ipv4_rej",      "ipv4_sidr_req", "ipv6_req",  "ipv6_rep",        "ipv6_rtu",
    "ipv4_sidr_rep", "ipv6_dreq",     "ipv6_drep", "ipv4_req_refused"};

// A recorded datagram, up to where the MAD begins.
struct Recorded {
  std::vector<std::byte> bytes;  // from the IP header
  std::size_t headers = 0;       // of IP and UDP

  explicit Recorded(const std::string& name) {
    std::ifstream file(VERBENA_GOLDEN "/kernel_cm/" + name + ".hex");
    bytes = FromHex(std::string(std::istreambuf_iterator<char>(file), {}));
    headers = (name.starts_with("ipv4") ? Ipv4Header::kSize : Ipv6Header::kSize) + UdpHeader::kSize;
  }
  [[nodiscard]] Packet packet() const { return *Packet::Parse(std::span(bytes).subspan(headers)); }
};

std::vector<std::byte> MadOf(const std::string& name) {
  const Recorded recorded(name);
  const auto payload = recorded.packet().payload();
  return {payload.begin(), payload.end()};
}

template <class Message>
Message Read(const std::string& name) {
  const auto mad = CmMad::Parse(MadOf(name));
  EXPECT_TRUE(mad && std::holds_alternative<Message>(mad->message)) << name;
  return mad ? std::get<Message>(mad->message) : Message();
}

IpAddress Ipv4(uint32_t last) { return IpAddress::FromIpv4(Ipv4Address(0x0A4D0000 + last)); }

TEST(KernelCmTest, GoesToTheGeneralServicesQp) {
  for (const std::string& name : kNames) {
    const Recorded recorded(name);
    const Packet packet = recorded.packet();
    EXPECT_EQ(IcrcOf(std::span(recorded.bytes).first(recorded.headers), packet.covered()),
              packet.icrc())
        << name;
    EXPECT_EQ(packet.bth().dest_qp, kGeneralServicesQp) << name;
    EXPECT_EQ(packet.Get<Deth>()->q_key, kGeneralServicesQKey) << name;
    EXPECT_EQ(packet.payload().size(), kMadSize) << name;
  }
}

TEST(KernelCmTest, IsWrittenAsItWas) {
  for (const std::string& name : kNames) {
    const auto bytes = MadOf(name);
    const auto mad = CmMad::Parse(bytes);
    ASSERT_TRUE(mad) << name;
    EXPECT_TRUE(std::ranges::equal(mad->ToBytes(), bytes)) << name;
  }
}

TEST(KernelCmTest, AsksForAPortByAddress) {
  const auto req = Read<CmReq>("ipv4_req");
  EXPECT_EQ(IpCmServiceOf(req.service_id),
            (IpCmService{.protocol = IpCmProtocol::kTcp, .port = 7174}));
  const auto ip = IpCmHeader::Parse(req.private_data.bytes);
  ASSERT_TRUE(ip);
  EXPECT_EQ(ip->source, Ipv4(3));
  EXPECT_EQ(ip->destination, Ipv4(2));
  EXPECT_EQ(req.primary.local_gid, Ipv4(3));
  EXPECT_EQ(req.primary.remote_gid, Ipv4(2));
  EXPECT_EQ(req.path_mtu, CmMtu(5));  // 4096
  EXPECT_EQ(req.remote_response_timeout, CmTimeout(20));
  EXPECT_EQ(req.max_cm_retries, 15);
  const auto ipv6 = IpCmHeader::Parse(Read<CmReq>("ipv6_req").private_data.bytes);
  ASSERT_TRUE(ipv6);
  EXPECT_EQ(ToString(ipv6->destination), "fd77::2");
  const auto sidr = Read<CmSidrReq>("ipv4_sidr_req");
  EXPECT_EQ(IpCmServiceOf(sidr.service_id)->protocol, IpCmProtocol::kUdp);
  EXPECT_EQ(IpCmHeader::Parse(sidr.private_data.bytes)->source, Ipv4(3));
}

TEST(KernelCmTest, ItsMessagesBelongTogether) {
  for (const std::string ip : {"ipv4", "ipv6"}) {
    const auto req = Read<CmReq>(ip + "_req");
    const auto rep = Read<CmRep>(ip + "_rep");
    const auto rtu = Read<CmRtu>(ip + "_rtu");
    const auto dreq = Read<CmDreq>(ip + "_dreq");
    const auto drep = Read<CmDrep>(ip + "_drep");
    EXPECT_EQ(rep.remote_comm_id, req.local_comm_id);
    EXPECT_EQ(rtu.local_comm_id, req.local_comm_id);
    EXPECT_EQ(rtu.remote_comm_id, rep.local_comm_id);
    EXPECT_EQ(dreq.remote_comm_id, rep.local_comm_id);
    EXPECT_EQ(dreq.remote_qp, rep.local_qp);
    EXPECT_EQ(drep.local_comm_id, rep.local_comm_id);
    EXPECT_NE(req.local_ca_guid, rep.local_ca_guid);
  }
  const auto refused = Read<CmReq>("ipv4_req_refused");
  const auto rej = Read<CmRej>("ipv4_rej");
  EXPECT_EQ(rej.remote_comm_id, refused.local_comm_id);
  EXPECT_EQ(rej.rejected, CmSubject::kReq);
  EXPECT_EQ(rej.reason, CmRejectReason::kInvalidServiceId);
  const auto sidr = Read<CmSidrRep>("ipv4_sidr_rep");
  EXPECT_EQ(sidr.request_id, Read<CmSidrReq>("ipv4_sidr_req").request_id);
  EXPECT_EQ(sidr.status, CmSidrStatus::kValid);
}

// The passive side of a connection that the kernel requests. Its RTU and DREQ have the ids and the
// QP of another connection, so these are replaced.
TEST(KernelCmTest, IsServedByOurMachine) {
  transport::CmManager manager({.ca_guid = CaGuid(2)});
  transport::CmOutbox outbox;
  transport::CmStep step{Time(), outbox};
  const auto req = Read<CmReq>("ipv4_req");
  ASSERT_TRUE(manager.Listen(req.service_id, 1));
  manager.OnDatagram(MadOf("ipv4_req"), Ipv4(3), step);
  manager.OnDatagram(MadOf("ipv4_req"), Ipv4(3), step);
  ASSERT_EQ(outbox.events.size(), 1u);
  const CommId id = outbox.events[0].connection;
  ASSERT_TRUE(manager.Accept(id, {.local_qp = QpNumber(0x33)}, step));
  ASSERT_EQ(outbox.datagrams.size(), 1u);
  EXPECT_EQ(std::get<CmRep>(outbox.datagrams[0].mad.message).remote_comm_id, req.local_comm_id);
  EXPECT_EQ(outbox.datagrams[0].to, Ipv4(3));

  auto rtu = Read<CmRtu>("ipv4_rtu");
  rtu.remote_comm_id = id;
  manager.OnDatagram(CmMad{{}, rtu}.ToBytes(), Ipv4(3), step);
  ASSERT_EQ(outbox.events.size(), 2u);
  EXPECT_EQ(outbox.events[1].type, CmEventType::kEstablished);
  auto dreq = Read<CmDreq>("ipv4_dreq");
  dreq.remote_comm_id = id;
  dreq.remote_qp = QpNumber(0x33);
  manager.OnDatagram(CmMad{{}, dreq}.ToBytes(), Ipv4(3), step);
  ASSERT_EQ(outbox.events.size(), 3u);
  EXPECT_EQ(outbox.events[2].type, CmEventType::kDisconnected);

  // And the refused request gets the kernel's REJ.
  outbox.Clear();
  manager.OnDatagram(MadOf("ipv4_req_refused"), Ipv4(3), step);
  ASSERT_EQ(outbox.datagrams.size(), 1u);
  const auto ours = std::get<CmRej>(outbox.datagrams[0].mad.message);
  const auto theirs = Read<CmRej>("ipv4_rej");
  EXPECT_EQ(ours.remote_comm_id, theirs.remote_comm_id);
  EXPECT_EQ(ours.rejected, theirs.rejected);
  EXPECT_EQ(ours.reason, theirs.reason);
}

}  // namespace
}  // namespace verbena::wire
