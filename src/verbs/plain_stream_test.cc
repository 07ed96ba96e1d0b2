// Queue pairs of plain bytes, whose peers are ordinary sockets.

#include <poll.h>
#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/plain_stream_world.h"

namespace verbena {
namespace {

class PlainStreamTest : public PlainStreamWorld {};

TEST_F(PlainStreamTest, BytesGoBothWays) {
  const PlainSocket peer = Connected();
  PostReceive(0, 100);
  peer.Say("how are you?");
  EXPECT_EQ(WaitBytes(), 12u);
  EXPECT_EQ(Bytes(0, 12), "how are you?");
  Put(1000, "fine, thanks");
  PostSend(1000, 12);
  EXPECT_EQ(WaitBytes(), 12u);
  EXPECT_EQ(peer.Hear(12), "fine, thanks");
}

TEST_F(PlainStreamTest, ConnectsToAnOrdinaryServer) {
  const PlainSocket server = PlainSocket::Open();
  const uint16_t port = server.Listen();
  CmId id = Good(CmId::Create(context, channel_, PortSpace::kTcp, nullptr));
  ASSERT_TRUE(id.Connect(kLocalhost, {.ip = kLocalhost, .port = port}, Parameters()));
  const PlainSocket peer = server.Accept();
  peer.Say("220 ready");  // before the program has established
  const CmEvent event = Next();
  EXPECT_EQ(event.type, CmEventType::kConnectResponse);
  EXPECT_EQ(event.stream, StreamKind::kPlain);
  EXPECT_EQ(event.peer.service, CmService::kStream);
  ASSERT_TRUE(id.Establish());
  PostReceive(0, 9, true);
  EXPECT_EQ(WaitBytes(), 9u);
  EXPECT_EQ(Bytes(0, 9), "220 ready");
  PostSend(0, 9);
  EXPECT_EQ(WaitBytes(), 9u);
  EXPECT_EQ(peer.Hear(9), "220 ready");
}

TEST_F(PlainStreamTest, APortWithoutListenerIsRefused) {
  uint16_t port = 0;
  {
    const PlainSocket server = PlainSocket::Open();
    port = server.Listen();
  }
  CmId id = Good(CmId::Create(context, channel_, PortSpace::kTcp, nullptr));
  ASSERT_TRUE(id.Connect(kLocalhost, {.ip = kLocalhost, .port = port}, Parameters()));
  const CmEvent event = Next();
  EXPECT_EQ(event.type, CmEventType::kRejected);
  EXPECT_EQ(event.reason, 8);
}

// More than all buffers hold, both ways at once.
TEST_F(PlainStreamTest, LargeTransfersArriveByteByByte) {
  constexpr size_t kTotal = size_t{8} << 20;
  constexpr uint32_t kSend = 20'000, kReceive = 8'192;
  const PlainSocket peer = Connected();
  const std::string to_us = Text(kTotal, 1);
  std::thread writer([&] { peer.Say(to_us); });
  std::string heard;
  std::thread reader([&] {
    while (heard.size() < kTotal)
      heard += peer.Hear(std::min<size_t>(kTotal - heard.size(), 99'999));
  });
  Put(0, Text(kSend, 2));
  std::string received, expected;
  size_t posted = 0, sends = 0;
  for (int i = 0; i < 3; ++i)
    PostReceive(32'768 + size_t{kReceive} * static_cast<size_t>(i), kReceive);
  size_t next = 0;
  while (received.size() < kTotal || expected.size() < kTotal || sends > 0) {
    while (posted < kTotal && sends < 8) {
      const auto size = static_cast<uint32_t>(std::min<size_t>(kSend, kTotal - posted));
      PostSend(0, size);
      posted += size;
      ++sends;
    }
    const auto completion = Wait();
    ASSERT_TRUE(completion && completion->ok());
    if (IsReceive(completion->opcode)) {
      const size_t at = 32'768 + next * kReceive;
      received += Bytes(at, completion->byte_count);
      PostReceive(at, kReceive);
      next = (next + 1) % 3;
    } else {
      expected += Bytes(0, completion->byte_count);
      --sends;
    }
  }
  writer.join();
  reader.join();
  EXPECT_TRUE(received == to_us);
  EXPECT_TRUE(heard == expected);
}

// The window of TCP closes: the peer cannot send on, and nothing grows.
TEST_F(PlainStreamTest, WithoutReceivesThePeerIsStopped) {
  const PlainSocket peer = Connected();
  std::string text;
  for (uint8_t i = 0; i < 64; ++i) text += Text(size_t{1} << 19, i);
  for (const std::string half = text; text.size() < size_t{64} << 20;) text += half;
  size_t said = 0;
  for (int quiet = 0; quiet < 5;) {
    const ssize_t sent =
        send(peer.fd(), text.data() + said, text.size() - said, MSG_NOSIGNAL | MSG_DONTWAIT);
    quiet = sent > 0 ? 0 : quiet + 1;
    if (sent > 0) said += static_cast<size_t>(sent);
    if (sent <= 0) poll(nullptr, 0, 20);
  }
  EXPECT_LT(said, text.size());
  // All of it is there when it is asked for.
  size_t heard = 0;
  while (heard < said) {
    const auto size = static_cast<uint32_t>(std::min<size_t>(said - heard, 32'768));
    PostReceive(0, size, true);
    ASSERT_EQ(WaitBytes(), size);
    ASSERT_TRUE(Bytes(0, size) == text.substr(heard, size)) << heard;
    heard += size;
  }
}

// A send is not complete before TCP has it, so a reader that is slow slows the program down.
TEST_F(PlainStreamTest, ASlowReaderHoldsSends) {
  const PlainSocket peer = Connected();
  size_t posted = 0, done = 0;
  for (bool is_held = false; !is_held;) {
    while (posted < done + 32) {
      PostSend(0, 60'000);
      ++posted;
    }
    std::array<Completion, 8> out;
    const Time end = Now() + Milliseconds(300);
    size_t got = 0;
    while (got == 0 && Now() < end) got = cq.Poll(out).value_or(0);
    done += got;
    is_held = got == 0;
    ASSERT_LT(done, 10'000u);
  }
  std::thread reader([&] {
    for (size_t i = 0; i < posted; ++i) peer.Hear(60'000);
  });
  for (; done < posted; ++done) EXPECT_EQ(WaitBytes(), 60'000u);
  reader.join();
}

TEST_F(PlainStreamTest, EachDirectionEndsOnItsOwn) {
  const PlainSocket peer = Connected();
  PostReceive(0, 100);
  PostReceive(100, 100);
  peer.Say("last words");
  EXPECT_EQ(WaitBytes(), 10u);
  peer.End();
  EXPECT_EQ(WaitBytes(), 0u);
  EXPECT_EQ(state(), QpState::kRts);
  Put(0, "goodbye");
  PostSend(0, 7);
  PostEnd();
  EXPECT_EQ(WaitBytes(), 7u);
  EXPECT_EQ(WaitBytes(), 0u);
  EXPECT_EQ(peer.Hear(7), "goodbye");
  EXPECT_EQ(peer.HearMore(), 0);
  EXPECT_EQ(Next().type, CmEventType::kDisconnected);
  EXPECT_EQ(state(), QpState::kErr);
}

TEST_F(PlainStreamTest, TheOtherDirectionGoesOnBehindAnEnd) {
  const PlainSocket peer = Connected();
  PostEnd();
  EXPECT_EQ(WaitBytes(), 0u);
  EXPECT_EQ(peer.HearMore(), 0);
  peer.Say("answer");
  PostReceive(0, 6, true);
  EXPECT_EQ(WaitBytes(), 6u);
  peer.End();
  PostReceive(0, 6);
  EXPECT_EQ(WaitBytes(), 0u);
  EXPECT_EQ(Next().type, CmEventType::kDisconnected);
}

TEST_F(PlainStreamTest, AResetFlushesBothQueues) {
  PlainSocket peer = Connected();
  PostReceive(0, 100);
  peer.Reset();
  EXPECT_EQ(WaitStatus(), CompletionStatus::kFlushed);
  EXPECT_EQ(Next().type, CmEventType::kDisconnected);
  EXPECT_EQ(state(), QpState::kErr);
}

// Also when nothing that the peer has sent was taken.
TEST_F(PlainStreamTest, AResetIsNoticedByASend) {
  PlainSocket peer = Connected();
  peer.Say(Text(1'000, 1));
  peer.Reset();
  bool is_over = false;
  for (int i = 0; i < 1'000 && !is_over; ++i) {
    PostSend(0, 1'000);
    const auto status = WaitStatus();
    ASSERT_TRUE(status.has_value());
    is_over = status == CompletionStatus::kFlushed;
  }
  EXPECT_TRUE(is_over);
  EXPECT_EQ(Next().type, CmEventType::kDisconnected);
}

TEST_F(PlainStreamTest, ARefusedAccessResetsTheStream) {
  const PlainSocket peer = Connected();
  PostSend(0, 100);
  EXPECT_EQ(WaitBytes(), 100u);
  Sge beyond = region.Local(0, 100);
  beyond.address += memory.size();
  EXPECT_TRUE(qp_.Post(Send{.data = beyond}));
  const auto completion = Wait();
  ASSERT_TRUE(completion.has_value());
  EXPECT_EQ(completion->status, CompletionStatus::kLocalProtectionError);
  EXPECT_EQ(completion->vendor_error, static_cast<uint32_t>('e'));
  ssize_t heard = 1;
  while (heard > 0) heard = peer.HearMore();
  EXPECT_EQ(heard, -1);
  EXPECT_EQ(errno, ECONNRESET);
}

TEST_F(PlainStreamTest, DisconnectEndsWhatWasSentInOrder) {
  const PlainSocket peer = Connected();
  Put(0, "the end");
  PostSend(0, 7);
  EXPECT_EQ(WaitBytes(), 7u);
  PostReceive(0, 100);
  ASSERT_TRUE(id_.Disconnect());
  EXPECT_EQ(peer.Hear(7), "the end");
  EXPECT_EQ(peer.HearMore(), 0);
  EXPECT_EQ(WaitStatus(), CompletionStatus::kFlushed);
}

TEST_F(PlainStreamTest, BytesForAbsentPagesWaitForThem) {
  const PlainSocket peer = Connected();
  constexpr size_t kSize = size_t{2} << 20;
  auto* const fresh = static_cast<std::byte*>(
      mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(static_cast<void*>(fresh), MAP_FAILED);
  {
    const auto pages = Good(MemoryRegion::Register(domain, {fresh, kSize}, Access::kAll));
    const std::string text = Text(kSize, 4);
    std::thread writer([&] { peer.Say(text); });
    EXPECT_TRUE(qp_.Post(Receive{.data = pages.Local(0, kSize), .fills = true}));
    EXPECT_EQ(WaitBytes(), kSize);
    writer.join();
    EXPECT_EQ(std::memcmp(fresh, text.data(), kSize), 0);
    EXPECT_GT(Good(qp_.Query()).counters.page_requests, 0u);
  }
  munmap(fresh, kSize);
}

TEST_F(PlainStreamTest, AQueuePairCanBeConnectedAgain) {
  for (int life = 0; life < 3; ++life) {
    if (life == 0) Listen();
    PlainSocket peer = PlainSocket::To(port());
    Serve();
    PostReceive(0, 100);
    peer.Say("again");
    EXPECT_EQ(WaitBytes(), 5u);
    ASSERT_TRUE(id_.Disconnect());
    peer.Close();
    EXPECT_EQ(Next().type, CmEventType::kDisconnected);
    QpAttributes reset;
    reset.state = QpState::kReset;
    ASSERT_TRUE(qp_.Modify(reset));
    ASSERT_TRUE(qp_.Prepare());
  }
}

// ---- What is refused.

TEST_F(PlainStreamTest, TypesOfQueuePairsAndStreamsMustMatch) {
  QueuePair rc = MakeQp();
  Good(rc.Prepare());
  ConnectionParameters parameters = Parameters();
  parameters.qp = rc.number();
  CmId id = Good(CmId::Create(context, channel_, PortSpace::kTcp, nullptr));
  EXPECT_EQ(CodeOf(id.Connect(kLocalhost, {.ip = kLocalhost, .port = 1}, parameters)),
            ErrorCode::kInvalid);
  parameters = Parameters();
  parameters.service = CmService::kRc;
  EXPECT_EQ(CodeOf(id.Connect(kLocalhost, {.ip = kLocalhost, .port = 1}, parameters)),
            ErrorCode::kInvalid);
  Listen();
  const PlainSocket peer = PlainSocket::To(port());
  id_ = Good(CmId::Take(context, channel_, Next(), nullptr));
  parameters = Parameters();
  parameters.qp = rc.number();
  EXPECT_EQ(CodeOf(id_.Accept(parameters)), ErrorCode::kInvalid);
  parameters = Parameters();
  parameters.private_data.size = 1;
  EXPECT_EQ(CodeOf(id_.Accept(parameters)), ErrorCode::kInvalid);
  EXPECT_TRUE(id_.Accept(Parameters()));
}

TEST_F(PlainStreamTest, WhatAStreamHasNotIsRefusedWhenItIsMade) {
  QpSpec spec = Spec(QpType::kStream);
  const auto srq = Good(SharedReceiveQueue::Create(domain, 16));
  spec.srq = &srq;
  EXPECT_EQ(CodeOf(QueuePair::Create(domain, spec)), ErrorCode::kInvalid);
  const VerbsNode roce;
  EXPECT_EQ(CodeOf(QueuePair::Create(roce.domain, roce.Spec(QpType::kStream))),
            ErrorCode::kNotSupported);
  CmId id = Good(CmId::Create(roce.context, channel_, PortSpace::kTcp, nullptr));
  ASSERT_TRUE(id.Bind({.ip = kLocalhost}));
  EXPECT_EQ(CodeOf(id.Listen(4, {.plain = true})), ErrorCode::kNotSupported);
  EXPECT_EQ(CodeOf(id.Connect(kLocalhost, {.ip = kLocalhost, .port = 1}, Parameters())),
            ErrorCode::kNotSupported);
  ASSERT_TRUE(listener_.Bind({.ip = kLocalhost}));
  EXPECT_EQ(CodeOf(listener_.Listen(4, {.rdma = false})), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(listener_.Listen(4, {.plain = true, .silence = {}})), ErrorCode::kInvalid);
}

}  // namespace
}  // namespace verbena
