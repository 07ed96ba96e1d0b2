// Peers of SCTP that do not behave, at each step of an association and of a DDP stream session,
// while a peer that does is beside them.

#include <poll.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "adapter/cm/iwarp_cm.h"
#include "base/random.h"
#include "tests/support/adapter_world.h"
#include "tests/support/raw_sctp.h"
#include "wire/iwarp/ddp_session.h"

namespace verbena::adapter {
namespace {

using Bytes = RawSctpPeer::Bytes;
using wire::DdpFunction;

constexpr auto kControl = static_cast<uint32_t>(wire::DdpProtocol::kSessionControl);
constexpr auto kSegment = static_cast<uint32_t>(wire::DdpProtocol::kSegment);
const IpAddress kHere = IpAddress::FromIpv4(127, 0, 0, 1);

AdapterOptions SctpAdapterOptions(Duration request_timeout) {
  AdapterOptions options = TestOptions();
  options.transport = TransportType::kIwarpSctp;
  options.iwarp.request_timeout = request_timeout;
  options.iwarp.handshakes_max = 4;
  options.iwarp.close_timeout = Milliseconds(200);
  return options;
}

Bytes Control(DdpFunction function, size_t private_data = 0, uint32_t number = 0) {
  Bytes message(wire::DdpSessionControl::kSize + private_data);
  wire::DdpSessionControl{.ssn = wire::DdpSsn(number), .function = function}.Serialize(message);
  return message;
}

class IwarpCmSctpTest : public testing::Test {
 protected:
  explicit IwarpCmSctpTest(Duration request_timeout = Milliseconds(200))
      : node_("127.0.0.1", uint64_t{1} << 16, SctpAdapterOptions(request_timeout)) {
    listener_ = *node_.adapter().CreateCmEnd(queue_, PortSpace::kTcp, nullptr);
    EXPECT_TRUE(node_.adapter().Bind(*listener_, {.ip = kHere}, false, false));
    EXPECT_TRUE(node_.adapter().Listen(*listener_, 2));
    port_ = node_.adapter().LocalAddressOf(*listener_)->port;
    neighbour_.emplace(port_);
    Ask(*neighbour_);
  }
  ~IwarpCmSctpTest() override {
    ExpectRejected(*neighbour_);
    RawSctpPeer after(port_);
    Ask(after);
    ExpectRejected(after);
    EXPECT_TRUE(node_.adapter().Destroy(listener_));
  }

  // A peer that behaves has a request, which the program is to take...
  void Ask(RawSctpPeer& peer) {
    EXPECT_TRUE(peer.Connect());
    peer.Send(peer.Data(kControl, Control(DdpFunction::kInitiate)));
    for (int i = 0; i < 2'000 && counters().requests_received <= asked_; ++i) poll(nullptr, 0, 5);
    EXPECT_EQ(counters().requests_received, ++asked_);
  }
  // ...and rejects.
  void ExpectRejected(RawSctpPeer& peer) {
    pollfd file{.fd = queue_.fd(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(poll(&file, 1, 20'000), 1);
    const auto event = queue_.Wait();
    ASSERT_TRUE(event.has_value());
    EXPECT_EQ(event->type, CmEventType::kConnectRequest);
    EXPECT_EQ(event->remote.port, peer.port());
    CmEnd* const end = *node_.adapter().TakeCmRequest(*event, queue_, nullptr);
    EXPECT_TRUE(node_.adapter().Reject(*end, {}, 0));
    EXPECT_TRUE(node_.adapter().Destroy(end));
    EXPECT_EQ(FunctionOf(peer), DdpFunction::kReject);
  }
  // Of the session message that comes next.
  static std::optional<DdpFunction> FunctionOf(RawSctpPeer& peer) {
    constexpr size_t kDataHeader = 16;
    const auto chunk = peer.Await({RawSctpPeer::kData});
    if (!chunk || chunk->size() < kDataHeader) return std::nullopt;
    const auto control = wire::DdpSessionControl::Parse(std::span(*chunk).subspan(kDataHeader));
    return control ? std::optional(control->function) : std::nullopt;
  }
  // A peer that sends this message first is ended.
  void ExpectEnded(uint32_t protocol, const Bytes& message, const std::string& what) {
    RawSctpPeer peer(port_);
    ASSERT_TRUE(peer.Connect());
    peer.Send(peer.Data(protocol, message));
    EXPECT_TRUE(peer.IsEnded()) << what;
  }
  CmUseCounters counters() { return node_.adapter().Query()->cm; }

  CmEventQueue queue_{*EventFile::Open(true)};
  TestNode node_;
  CmEnd* listener_ = nullptr;
  uint16_t port_ = 0;
  uint64_t asked_ = 0;
  std::optional<RawSctpPeer> neighbour_;
};

// Peers have time for their requests, also on a busy machine.
class IwarpCmSctpPatientTest : public IwarpCmSctpTest {
 protected:
  IwarpCmSctpPatientTest() : IwarpCmSctpTest(Seconds(60)) {}
};

TEST_F(IwarpCmSctpTest, APeerThatSendsNothingIsEndedInTime) {
  RawSctpPeer peer(port_);
  ASSERT_TRUE(peer.Connect());
  EXPECT_TRUE(peer.IsEnded());
  EXPECT_EQ(counters().handshake_timeouts, 1u);
}

// The first fragments of a request, and of one that is endless: more than its window allows.
TEST_F(IwarpCmSctpTest, APartOfARequestIsEndedInTime) {
  for (const size_t fragments : {size_t{1}, size_t{400}}) {
    RawSctpPeer peer(port_);
    ASSERT_TRUE(peer.Connect());
    Bytes part = Control(DdpFunction::kInitiate, 1'000);
    for (size_t i = 0; i < fragments; ++i) {
      peer.Send(peer.Data(kControl, part, i == 0 ? RawSctpPeer::kBeginning : 0));
    }
    EXPECT_TRUE(peer.IsEnded()) << fragments;
  }
  EXPECT_GE(counters().handshake_timeouts, 1u);
}

TEST_F(IwarpCmSctpPatientTest, WhatIsNoRequestIsMalformed) {
  const Bytes good = Control(DdpFunction::kInitiate);
  ExpectEnded(kControl, {std::byte{0}}, "half a number");
  ExpectEnded(kControl, Bytes(good.begin(), good.begin() + 3), "half a header");
  ExpectEnded(kSegment, good, "a segment");
  ExpectEnded(kSegment + 2, good, "another protocol");
  ExpectEnded(0, good, "no protocol");
  ExpectEnded(kControl, Control(DdpFunction::kInitiate, 0, 1), "the second message");
  ExpectEnded(kControl, Control(DdpFunction::kInitiate, 0, 0xFFFF), "an old message");
  for (const int function : {0, 2, 3, 4, 6, 7, 8, 0xFFFF}) {
    ExpectEnded(kControl, Control(static_cast<DdpFunction>(function)), std::to_string(function));
  }
  ExpectEnded(kControl, Control(DdpFunction::kEnhancedInitiate, 3), "too short for its depths");
  ExpectEnded(kControl, Control(DdpFunction::kInitiate, 513), "private data");
  ExpectEnded(kControl, Control(DdpFunction::kInitiate, 60'000), "much private data");
  EXPECT_EQ(counters().malformed, 18u);
}

// An event has room for 224 bytes; RFC 5043 allows 512.
TEST_F(IwarpCmSctpPatientTest, PrivateDataThatNoEventHoldsIsRejected) {
  for (const size_t size : {size_t{225}, size_t{512}}) {
    RawSctpPeer peer(port_);
    ASSERT_TRUE(peer.Connect());
    peer.Send(peer.Data(kControl, Control(DdpFunction::kInitiate, size)));
    EXPECT_EQ(FunctionOf(peer), DdpFunction::kReject);
    ++asked_;
  }
  EXPECT_EQ(counters().malformed, 2u);
}

// What it sends before the program accepts stays in its window, and the rest is lost.
TEST_F(IwarpCmSctpPatientTest, APeerThatFloodsBeforeItIsAcceptedIsStopped) {
  ExpectRejected(*neighbour_);
  RawSctpPeer peer(port_);
  Ask(peer);
  for (uint32_t i = 1; i <= 1'000; ++i) {
    peer.Send(peer.Data(kSegment, Control(DdpFunction::kInitiate, 1'000, i)));
  }
  neighbour_.emplace(port_);
  Ask(*neighbour_);
  EXPECT_LT(node_.adapter().Query()->port.bytes_received, 1'000u);
  ExpectRejected(peer);
}

TEST_F(IwarpCmSctpPatientTest, APeerWithoutTheIndicationIsEnded) {
  for (const auto adaptation : {std::optional<uint32_t>(), std::optional<uint32_t>(2)}) {
    RawSctpPeer peer(port_);
    ASSERT_TRUE(peer.Connect(adaptation));
    peer.Send(peer.Data(kControl, Control(DdpFunction::kInitiate)));
    EXPECT_TRUE(peer.IsEnded());
  }
  EXPECT_EQ(counters().requests_received, asked_);
}

// A peer that goes away at any step leaves nothing behind.
TEST_F(IwarpCmSctpPatientTest, AbortsAtEveryStepAreSurvived) {
  const Bytes request = Control(DdpFunction::kInitiate, 100);
  for (int step = 0; step < 5; ++step) {
    RawSctpPeer peer(port_);
    if (step == 0) peer.Send(peer.Init());
    if (step == 1 || step == 2) {
      EXPECT_TRUE(peer.Begin());
    }
    if (step == 2) {
      Bytes both = peer.CookieEcho();
      RawSctpPeer::Append(RawSctpPeer::Abort(), both);
      peer.Send(both);
    }
    if (step >= 3) {
      EXPECT_TRUE(peer.Connect());
    }
    if (step == 4) peer.Send(peer.Data(kControl, request, RawSctpPeer::kBeginning));
    peer.Send(RawSctpPeer::Abort());
  }
}

// The program has the request; the peer is gone.
TEST_F(IwarpCmSctpPatientTest, PeersThatGoAwayWhileTheyWaitLeaveNothingBehind) {
  ExpectRejected(*neighbour_);
  for (int i = 0; i < 10; ++i) {
    RawSctpPeer peer(port_);
    Ask(peer);
    peer.Send(RawSctpPeer::Abort());
    const auto event = queue_.Wait();
    ASSERT_TRUE(event.has_value());
    CmEnd* const end = *node_.adapter().TakeCmRequest(*event, queue_, nullptr);
    EXPECT_TRUE(node_.adapter().Reject(*end, {}, 0));
    EXPECT_TRUE(node_.adapter().Destroy(end));
  }
  neighbour_.emplace(port_);
  Ask(*neighbour_);
}

TEST_F(IwarpCmSctpPatientTest, OneHandshakeTooManyEndsTheOldest) {
  std::vector<std::unique_ptr<RawSctpPeer>> peers;
  for (int i = 0; i < 5; ++i) {
    peers.push_back(std::make_unique<RawSctpPeer>(port_));
    ASSERT_TRUE(peers.back()->Connect());
  }
  EXPECT_TRUE(peers.front()->IsEnded());
  EXPECT_EQ(counters().refused_full, 1u);
}

TEST_F(IwarpCmSctpPatientTest, TheBacklogIsALimit) {
  RawSctpPeer second(port_);
  Ask(second);
  RawSctpPeer third(port_);
  ASSERT_TRUE(third.Connect());
  third.Send(third.Data(kControl, Control(DdpFunction::kInitiate)));
  EXPECT_EQ(FunctionOf(third), DdpFunction::kReject);
  EXPECT_EQ(counters().refused_full, 1u);
  ++asked_;
  ExpectRejected(*neighbour_);
  ExpectRejected(second);
  neighbour_.emplace(port_);
  Ask(*neighbour_);
}

// A sender that does not know the verification tag of an association cannot end it, and packets
// that are none cost nothing.
TEST_F(IwarpCmSctpPatientTest, SpoofedPacketsAndGarbageAreDropped) {
  Random random(5);
  const RawSctpPeer stranger(port_);
  for (int i = 0; i < 500; ++i) {
    const auto tag = random.Next32();
    const Bytes chunks = i % 2 == 0 ? RawSctpPeer::Abort()
                                    : neighbour_->Data(kControl, Control(DdpFunction::kTerminate));
    if (tag != neighbour_->peer_tag()) neighbour_->SendDatagram(neighbour_->Packet(tag, chunks));
    Bytes packet = stranger.Packet(tag, chunks);
    stranger.SendDatagram(packet);
    packet[random.Below(packet.size())] ^= std::byte{1};  // a wrong port, tag or checksum
    stranger.SendDatagram(packet);
    stranger.SendDatagram(std::span(packet).first(random.Below(packet.size())));
  }
  EXPECT_EQ(counters().malformed, 0u);
}

}  // namespace
}  // namespace verbena::adapter
