// Peers that do not behave: each is a plain TCP socket that connects to a listener.

#include "adapter/cm/iwarp_cm.h"

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/adapter_world.h"

namespace verbena::adapter {
namespace {

using fabric::TcpSocket;
using fabric::TcpTransfer;

const IpAddress kHere = IpAddress::FromIpv4(127, 0, 0, 1);

AdapterOptions IwarpAdapterOptions(Duration request_timeout) {
  AdapterOptions options = TestOptions();
  options.transport = TransportType::kIwarp;
  options.iwarp.request_timeout = request_timeout;
  options.iwarp.handshakes_max = 4;
  options.iwarp.close_timeout = Milliseconds(200);
  return options;
}

// The request of an initiator, with private data.
std::vector<std::byte> Request(size_t private_data = 0) {
  const std::vector<std::byte> data(private_data);
  const auto frame = transport::MakeMpaRequest({.ulpdu_max = 1'024}, data);
  return {frame.bytes().begin(), frame.bytes().end()};
}

class IwarpCmTest : public testing::Test {
 protected:
  explicit IwarpCmTest(Duration request_timeout = Milliseconds(200),
                       const StreamsServed& serves = {})
      : node_("127.0.0.1", uint64_t{1} << 16, IwarpAdapterOptions(request_timeout)) {
    listener_ = *node_.adapter().CreateCmEnd(queue_, PortSpace::kTcp, nullptr);
    EXPECT_TRUE(node_.adapter().Bind(*listener_, {.ip = kHere}, false, false));
    EXPECT_TRUE(node_.adapter().Listen(*listener_, 2, serves));
    address_ = *node_.adapter().LocalAddressOf(*listener_);
  }
  ~IwarpCmTest() override { EXPECT_TRUE(node_.adapter().Destroy(listener_)); }

  TcpSocket Connected() const {
    TcpSocket peer = std::move(*TcpSocket::Bind({.ip = kHere}));
    EXPECT_TRUE(peer.Connect(address_));
    pollfd file{.fd = peer.fd(), .events = POLLOUT, .revents = 0};
    EXPECT_EQ(poll(&file, 1, 20'000), 1);
    return peer;
  }
  static void Say(const TcpSocket& peer, std::span<const std::byte> bytes) {
    EXPECT_EQ(peer.Write({bytes, {}}).bytes, bytes.size());
  }
  // All that this side has sent until it ended the stream.
  static std::vector<std::byte> ReadToEnd(const TcpSocket& peer) {
    std::vector<std::byte> all;
    for (;;) {
      pollfd file{.fd = peer.fd(), .events = POLLIN, .revents = 0};
      if (poll(&file, 1, 20'000) != 1) {
        ADD_FAILURE() << "the stream does not end";
        return all;
      }
      std::array<std::byte, 600> room;
      const TcpTransfer read = peer.Read(room);
      all.insert(all.end(), room.begin(), room.begin() + static_cast<ptrdiff_t>(read.bytes));
      if (read.end == TcpTransfer::End::kClosed || read.end == TcpTransfer::End::kBroken) {
        return all;
      }
    }
  }
  CmUseCounters counters() { return node_.adapter().Query()->cm; }
  // The next event; it must come in time.
  std::optional<CmEvent> Next() {
    pollfd file{.fd = queue_.fd(), .events = POLLIN, .revents = 0};
    return poll(&file, 1, 20'000) == 1 ? queue_.Wait() : std::nullopt;
  }
  // A peer that behaves is served.
  void ExpectServed() {
    const TcpSocket peer = Connected();
    Say(peer, Request());
    const auto event = Next();
    ASSERT_TRUE(event.has_value());
    EXPECT_EQ(event->type, CmEventType::kConnectRequest);
    CmEnd* const end = *node_.adapter().TakeCmRequest(*event, queue_, nullptr);
    EXPECT_TRUE(node_.adapter().Reject(*end, {}, 0));
    EXPECT_FALSE(ReadToEnd(peer).empty());
    EXPECT_TRUE(node_.adapter().Destroy(end));
  }

  CmEventQueue queue_{*EventFile::Open(true)};
  TestNode node_;
  CmEnd* listener_ = nullptr;
  CmAddress address_;
};

// Peers have time for their requests, also on a busy machine.
class IwarpCmPatientTest : public IwarpCmTest {
 protected:
  IwarpCmPatientTest() : IwarpCmTest(Seconds(60)) {}
};

TEST_F(IwarpCmTest, APeerThatSendsNothingIsEndedInTime) {
  const TcpSocket peer = Connected();
  EXPECT_TRUE(ReadToEnd(peer).empty());
  EXPECT_EQ(counters().handshake_timeouts, 1u);
  ExpectServed();
}

TEST_F(IwarpCmTest, EveryPartOfARequestIsEndedInTime) {
  const auto request = Request(9);
  for (const size_t part : {size_t{1}, size_t{15}, size_t{16}, size_t{19}, request.size() - 1}) {
    const TcpSocket peer = Connected();
    Say(peer, std::span(request).first(part));
    EXPECT_TRUE(ReadToEnd(peer).empty()) << part;
  }
  EXPECT_EQ(counters().handshake_timeouts, 5u);
  EXPECT_EQ(counters().requests_received, 0u);
  ExpectServed();
}

TEST_F(IwarpCmTest, GarbageIsEndedAtOnce) {
  const std::vector<std::byte> garbage(64, std::byte{'G'});
  const TcpSocket peer = Connected();
  Say(peer, garbage);
  EXPECT_TRUE(ReadToEnd(peer).empty());
  EXPECT_EQ(counters().refused_plain, 1u);
  ExpectServed();
}

TEST_F(IwarpCmTest, ARequestWithEndlessPrivateDataIsMalformed) {
  auto request = Request();
  // The length of the private data is the last field of the header.
  request[wire::MpaRequest::kSize - 2] = request[wire::MpaRequest::kSize - 1] = std::byte{0xFF};
  const TcpSocket peer = Connected();
  Say(peer, std::span(request).first(wire::MpaRequest::kSize));
  EXPECT_TRUE(ReadToEnd(peer).empty());
  EXPECT_EQ(counters().malformed, 1u);
}

// An event has room for 224 bytes; MPA allows 512.
TEST_F(IwarpCmPatientTest, PrivateDataThatNoEventHoldsIsRejected) {
  const TcpSocket peer = Connected();
  Say(peer, Request(CmPrivateData::kMax + 1));
  peer.CloseWrites();
  const auto reply = ReadToEnd(peer);
  const auto frame = wire::MpaRequest::Parse(reply);
  ASSERT_TRUE(frame.has_value());
  EXPECT_TRUE(frame->rejects);
  EXPECT_EQ(counters().malformed, 1u);
}

TEST_F(IwarpCmTest, BytesBehindARequestEndTheStream) {
  auto request = Request();
  request.push_back(std::byte{1});
  const TcpSocket peer = Connected();
  Say(peer, request);
  EXPECT_TRUE(ReadToEnd(peer).empty());
  EXPECT_EQ(counters().malformed, 1u);
}

TEST_F(IwarpCmPatientTest, OneHandshakeTooManyEndsTheOldest) {
  std::vector<TcpSocket> peers;
  for (int i = 0; i < 5; ++i) peers.push_back(Connected());
  EXPECT_TRUE(ReadToEnd(peers.front()).empty());
  EXPECT_EQ(counters().refused_full, 1u);
  Say(peers.back(), Request());
  const auto event = Next();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->type, CmEventType::kConnectRequest);
}

TEST_F(IwarpCmPatientTest, TheBacklogIsALimit) {
  std::vector<TcpSocket> peers;
  for (int i = 0; i < 3; ++i) {
    peers.push_back(Connected());
    Say(peers.back(), Request());
  }
  const auto reply = wire::MpaRequest::Parse(ReadToEnd(peers.back()));
  ASSERT_TRUE(reply.has_value());
  EXPECT_TRUE(reply->rejects);
  EXPECT_EQ(counters().refused_full, 1u);
}

// A peer that goes away at any byte leaves nothing behind.
TEST_F(IwarpCmPatientTest, ResetsAtEveryByteAreSurvived) {
  const auto request = Request(4);
  for (size_t sent = 0; sent < request.size(); ++sent) {
    const TcpSocket peer = Connected();
    Say(peer, std::span(request).first(sent));
    const linger now{.l_onoff = 1, .l_linger = 0};
    ASSERT_EQ(setsockopt(peer.fd(), SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
  }
  ExpectServed();
  EXPECT_EQ(counters().malformed, 0u);
}

// Lets the process open no more files. Those that are open stay open. UBSan opens a pipe when it
// first checks the type of an object, so a test uses its objects before the limit, too.
class NoMoreFiles {
 public:
  NoMoreFiles() {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const int lowest = dup(STDERR_FILENO);
    close(lowest);
    const rlimit none{.rlim_cur = static_cast<rlim_t>(lowest), .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  NoMoreFiles(const NoMoreFiles&) = delete;
  NoMoreFiles& operator=(const NoMoreFiles&) = delete;
  ~NoMoreFiles() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }

 private:
  rlimit before_{};
};

// The listener stays ready, and must not keep the progress thread busy.
TEST_F(IwarpCmPatientTest, AListenerWithoutDescriptorsPauses) {
  const TcpSocket peer = std::move(*TcpSocket::Bind({.ip = kHere}));
  const auto address = address_;
  ASSERT_EQ(counters().accepts_postponed, 0u);
  {
    const NoMoreFiles limit;
    ASSERT_TRUE(peer.Connect(address));
    for (int i = 0; i < 2'000 && counters().accepts_postponed == 0; ++i) poll(nullptr, 0, 10);
    EXPECT_GE(counters().accepts_postponed, 1u);
    const uint64_t passes = node_.adapter().Query()->port.passes;
    poll(nullptr, 0, 300);
    // Without a pause there are thousands.
    EXPECT_LT(node_.adapter().Query()->port.passes - passes, 100u);
    const auto warnings = node_.adapter().TakeWarnings();
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_TRUE(warnings[0].find("ulimit -n") != std::string::npos) << warnings[0];
  }
  Say(peer, Request());
  const auto event = Next();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->type, CmEventType::kConnectRequest);
}

TEST_F(IwarpCmPatientTest, APausedListenerCanBeDestroyed) {
  const TcpSocket peer = std::move(*TcpSocket::Bind({.ip = kHere}));
  CmEnd* const other = *node_.adapter().CreateCmEnd(queue_, PortSpace::kTcp, nullptr);
  ASSERT_TRUE(node_.adapter().Bind(*other, {.ip = kHere}, false, false));
  ASSERT_TRUE(node_.adapter().Listen(*other, 1));
  const auto address = node_.adapter().LocalAddressOf(*other);
  ASSERT_EQ(counters().accepts_postponed, 0u);
  {
    const NoMoreFiles limit;
    ASSERT_TRUE(peer.Connect(*address));
    for (int i = 0; i < 2'000 && counters().accepts_postponed == 0; ++i) poll(nullptr, 0, 10);
    EXPECT_TRUE(node_.adapter().Destroy(other));
  }
  ExpectServed();
}

// The reply says no, and the peer does not close the stream.
TEST_F(IwarpCmPatientTest, ARejectedPeerThatStaysIsEndedInTime) {
  const TcpSocket peer = Connected();
  Say(peer, Request());
  CmEnd* const end = *node_.adapter().TakeCmRequest(*Next(), queue_, nullptr);
  EXPECT_TRUE(node_.adapter().Reject(*end, {}, 0));
  EXPECT_TRUE(node_.adapter().Destroy(end));
  EXPECT_FALSE(ReadToEnd(peer).empty());
  // Then the socket is gone: what the peer sends is refused.
  const std::vector<std::byte> more(16);
  bool is_broken = false;
  for (int i = 0; i < 2'000 && !is_broken; ++i) {
    is_broken = peer.Write({std::span(more), {}}).end == TcpTransfer::End::kBroken;
    poll(nullptr, 0, 10);
  }
  EXPECT_TRUE(is_broken);
}

// ---- Streams of a kind that is not served, and peers that look like one.

// The header of an iSCSI login request.
std::vector<std::byte> Login() {
  std::vector<std::byte> login(48, std::byte{7});
  login[0] = std::byte{0x43};
  for (size_t i = 2; i < 6; ++i) login[i] = std::byte{0};
  return login;
}

TEST_F(IwarpCmTest, AnIscsiLoginIsRefusedByItsResponse) {
  const TcpSocket peer = Connected();
  Say(peer, Login());
  peer.CloseWrites();
  const auto response = ReadToEnd(peer);
  ASSERT_EQ(response.size(), 48u);
  EXPECT_EQ(response[0], std::byte{0x23});
  EXPECT_EQ(response[36], std::byte{3});
  EXPECT_EQ(response[37], std::byte{1});
  EXPECT_EQ(counters().refused_iscsi, 1u);
  ExpectServed();
}

TEST_F(IwarpCmTest, EveryPartOfALoginIsEndedInTime) {
  const auto login = Login();
  for (const size_t part : {size_t{1}, size_t{5}, size_t{6}, size_t{16}, size_t{47}}) {
    const TcpSocket peer = Connected();
    Say(peer, std::span(login).first(part));
    EXPECT_TRUE(ReadToEnd(peer).empty()) << part;
  }
  EXPECT_EQ(counters().handshake_timeouts, 5u);
  ExpectServed();
}

TEST_F(IwarpCmPatientTest, ResetsInALoginAreSurvived) {
  const auto login = Login();
  for (const size_t sent : {size_t{1}, size_t{5}, size_t{6}, size_t{47}}) {
    const TcpSocket peer = Connected();
    Say(peer, std::span(login).first(sent));
    peer.Reset();
  }
  ExpectServed();
}

// The bytes that decide arrive one by one.
TEST_F(IwarpCmPatientTest, ARequestInPiecesIsServed) {
  const TcpSocket peer = Connected();
  for (const std::byte byte : Request()) {
    Say(peer, {&byte, 1});
    poll(nullptr, 0, 2);
  }
  const auto event = Next();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->type, CmEventType::kConnectRequest);
  EXPECT_EQ(event->stream, StreamKind::kRdma);
}

// A listener of plain streams alone: every connection is a request at once.
class IwarpPlainCmTest : public IwarpCmTest {
 protected:
  explicit IwarpPlainCmTest(const StreamsServed& serves = {.rdma = false,
                                                           .iscsi = true,
                                                           .plain = true,
                                                           .silence = Seconds(60)})
      : IwarpCmTest(Seconds(60), serves) {}
};

TEST_F(IwarpPlainCmTest, RdmaIsRejectedByMpa) {
  const TcpSocket peer = Connected();
  Say(peer, Request());
  peer.CloseWrites();
  const auto reply = wire::MpaRequest::Parse(ReadToEnd(peer));
  ASSERT_TRUE(reply.has_value());
  EXPECT_TRUE(reply->rejects);
  EXPECT_EQ(counters().refused_rdma, 1u);
}

TEST_F(IwarpPlainCmTest, TheBacklogIsALimitOfPlainStreams) {
  std::vector<TcpSocket> peers;
  const std::vector<std::byte> text(20, std::byte{'t'});
  for (int i = 0; i < 3; ++i) {
    peers.push_back(Connected());
    Say(peers.back(), text);
    if (i < 2) {
      EXPECT_EQ(Next()->stream, StreamKind::kPlain);
    }
  }
  EXPECT_TRUE(ReadToEnd(peers.back()).empty());
  EXPECT_EQ(counters().refused_full, 1u);
  EXPECT_EQ(counters().plain_streams, 3u);
}

// No byte decides, and no time passes: there is room for so many, and the oldest makes room.
TEST_F(IwarpPlainCmTest, OneUndecidedPeerTooManyEndsTheOldest) {
  std::vector<TcpSocket> peers;
  for (int i = 0; i < 5; ++i) peers.push_back(Connected());
  EXPECT_TRUE(ReadToEnd(peers.front()).empty());
  EXPECT_EQ(counters().refused_full, 1u);
}

// What it sends before the program accepts stays in its socket.
TEST_F(IwarpPlainCmTest, APeerThatFloodsBeforeItIsAcceptedIsStopped) {
  const TcpSocket peer = Connected();
  const std::vector<std::byte> flood(1 << 20, std::byte{'f'});
  size_t sent = 0;
  for (int quiet = 0; quiet < 5 && sent < (size_t{64} << 20);) {
    const size_t now = peer.Write({std::span(flood), {}}).bytes;
    quiet = now > 0 ? 0 : quiet + 1;
    sent += now;
    if (now == 0) poll(nullptr, 0, 10);
  }
  EXPECT_LT(sent, size_t{64} << 20);
  EXPECT_EQ(Next()->stream, StreamKind::kPlain);
  EXPECT_LT(node_.adapter().Query()->port.bytes_received, 100u);
}

TEST_F(IwarpPlainCmTest, PeersThatGoAwayWhileTheyWaitLeaveNothingBehind) {
  for (int i = 0; i < 20; ++i) {
    const TcpSocket peer = Connected();
    const std::vector<std::byte> text(20, std::byte{'t'});
    Say(peer, text);
    const auto event = Next();
    ASSERT_TRUE(event.has_value());
    peer.Reset();
    CmEnd* const end = *node_.adapter().TakeCmRequest(*event, queue_, nullptr);
    EXPECT_TRUE(node_.adapter().Reject(*end, {}, 0));
    EXPECT_TRUE(node_.adapter().Destroy(end));
  }
  EXPECT_EQ(counters().rejected, 20u);
}

}  // namespace
}  // namespace verbena::adapter
