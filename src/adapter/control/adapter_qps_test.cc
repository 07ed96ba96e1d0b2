#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/adapter_world.h"

namespace verbena::adapter {
namespace {
using queue::SendOpcode;

struct Place {
  const char* name;
  const char* a;
  const char* b;
  bool shares_adapter;  // the path within one process
  bool plain;
};

class TrafficTest : public testing::TestWithParam<Place> {
 protected:
  static AdapterOptions MakeOptions() {
    AdapterOptions options = TestOptions();
    options.plain_sockets = GetParam().plain;
    return options;
  }

  TestNode& a() { return a_; }
  TestNode& b() { return GetParam().shares_adapter ? a_ : b_; }
  // In one node the two sides use different halves of the memory.
  static constexpr uint64_t kHalf = uint64_t{1} << 19;
  uint64_t there(uint64_t offset) const { return kHalf + offset; }

  void Expect(TestNode& node, uint64_t id, CompletionOpcode opcode, uint64_t bytes) {
    const auto completion = node.Wait();
    ASSERT_TRUE(completion.has_value()) << "no completion " << id;
    EXPECT_EQ(completion->status, CompletionStatus::kSuccess) << NameOf(completion->status);
    EXPECT_EQ(completion->id.value(), id);
    EXPECT_EQ(completion->opcode, opcode);
    if (opcode != CompletionOpcode::kSend && opcode != CompletionOpcode::kWrite) {
      EXPECT_EQ(completion->byte_count, bytes);
    }
  }

  TestNode a_{GetParam().a, uint64_t{1} << 20, MakeOptions()};
  TestNode b_{GetParam().b, uint64_t{1} << 20, MakeOptions()};
};

TEST_P(TrafficTest, ReliableConnectionReadsAndWritesAnyLength) {
  QueuePair& qa = a().MakeQp(QpType::kRc);
  QueuePair& qb = b().MakeQp(QpType::kRc);
  Connect(a(), qa, b(), qb);
  // Lengths around the MTU, and long ones.
  uint64_t id = 1;
  for (const uint64_t length : {1ull, 63ull, 4'096ull, 4'097ull, 12'345ull, 300'000ull}) {
    const auto seed = static_cast<uint8_t>(id);
    a().Fill(0, length, seed);
    Post(a(), qa, MakeSend(SendOpcode::kWrite, id, b().Remote(there(0))), a().Bytes(0, length));
    Expect(a(), id, CompletionOpcode::kWrite, length);
    EXPECT_TRUE(b().Holds(there(0), length, seed)) << "write of " << length;
    ++id;
    a().Fill(0, length, 0);
    Post(a(), qa, MakeSend(SendOpcode::kRead, id, b().Remote(there(0))), a().Bytes(0, length));
    Expect(a(), id, CompletionOpcode::kRead, length);
    EXPECT_TRUE(a().Holds(0, length, seed)) << "read of " << length;
    ++id;
  }
}

TEST_P(TrafficTest, SendsWithAndWithoutImmediate) {
  for (const QpType type : {QpType::kRc, QpType::kUc}) {
    QueuePair& qa = a().MakeQp(type);
    QueuePair& qb = b().MakeQp(type);
    Connect(a(), qa, b(), qb);
    a().Fill(0, 9'000, 5);
    PostReceive(b(), qb, 100, b().Bytes(there(0), 10'000));
    Post(a(), qa, MakeSend(SendOpcode::kSend, 1), a().Bytes(0, 9'000));
    std::vector<uint64_t> ids;
    for (int i = 0; i < 2; ++i) {
      const auto completion = (i == 0 ? a() : b()).Wait();
      ASSERT_TRUE(completion.has_value());
      EXPECT_EQ(completion->status, CompletionStatus::kSuccess);
      ids.push_back(completion->id.value());
    }
    std::ranges::sort(ids);
    EXPECT_EQ(ids, (std::vector<uint64_t>{1, 100}));
    EXPECT_TRUE(b().Holds(there(0), 9'000, 5)) << NameOf(type);

    PostReceive(b(), qb, 101, b().Bytes(there(0), 64));
    queue::SendWqe wqe = MakeSend(SendOpcode::kWriteWithImmediate, 2, b().Remote(there(20'000)));
    wqe.immediate = Immediate(0xABCD);
    wqe.flags.signaled = false;
    Post(a(), qa, wqe, a().Bytes(0, 5'000));
    const auto completion = b().Wait();
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->opcode, CompletionOpcode::kReceiveWithImmediate);
    EXPECT_EQ(completion->immediate, Immediate(0xABCD));
    EXPECT_EQ(completion->qp.value(), qb.number().value());
    EXPECT_TRUE(b().Holds(there(20'000), 5'000, 5));
  }
}

TEST_P(TrafficTest, AtomicsHappenOnce) {
  QueuePair& qa = a().MakeQp(QpType::kRc);
  QueuePair& qb = b().MakeQp(QpType::kRc);
  Connect(a(), qa, b(), qb);
  auto* const word = reinterpret_cast<uint64_t*>(b().memory().data() + there(64));
  *word = 100;
  const auto result = [&] { return *reinterpret_cast<uint64_t*>(a().memory().data()); };
  const queue::Atomic add{.remote = b().Remote(there(64)), .compare_or_add = 5};
  Post(a(), qa, MakeSend(SendOpcode::kFetchAndAdd, 1, add), a().Bytes(0, 8));
  Expect(a(), 1, CompletionOpcode::kFetchAdd, 8);
  EXPECT_EQ(result(), 100U);
  EXPECT_EQ(*word, 105U);
  const queue::Atomic swap{.remote = b().Remote(there(64)), .compare_or_add = 105, .swap = 7};
  Post(a(), qa, MakeSend(SendOpcode::kCompareAndSwap, 2, swap), a().Bytes(0, 8));
  Expect(a(), 2, CompletionOpcode::kCompareSwap, 8);
  EXPECT_EQ(result(), 105U);
  EXPECT_EQ(*word, 7U);
}

TEST_P(TrafficTest, ManyWritesAtOnceArriveInOrder) {
  QueuePair& qa = a().MakeQp(QpType::kRc);
  QueuePair& qb = b().MakeQp(QpType::kRc);
  Connect(a(), qa, b(), qb);
  constexpr uint64_t kWrites = 500;
  constexpr uint64_t kBytes = 700;
  uint64_t posted = 0, done = 0;
  a().Fill(0, kBytes * kWrites, 9);
  while (done < kWrites) {
    while (posted < kWrites && posted - done < 64) {
      Post(a(), qa, MakeSend(SendOpcode::kWrite, posted, b().Remote(there(posted * kBytes))),
           a().Bytes(posted * kBytes, kBytes));
      ++posted;
    }
    Expect(a(), done++, CompletionOpcode::kWrite, kBytes);
    if (HasFailure()) return;
  }
  EXPECT_TRUE(b().Holds(there(0), kBytes * kWrites, 9));
}

TEST_P(TrafficTest, UnreliableDatagramsCarryTheirOrigin) {
  QueuePair& qa = a().MakeQp(QpType::kUd);
  QueuePair& qb = b().MakeQp(QpType::kUd);
  Connect(a(), qa, b(), qb);
  const auto handle = a().adapter().CreateAddressHandle(a().pd(), PathFrom(a(), b()));
  ASSERT_TRUE(handle.has_value());
  a().Fill(0, 1'000, 3);
  PostReceive(b(), qb, 100, b().Bytes(there(0), 2'000));
  const Datagram to{.handle = *handle, .qp = qb.number(), .q_key = kTestQKey};
  queue::SendWqe wqe = MakeSend(SendOpcode::kSend, 1, to);
  wqe.flags.signaled = false;
  // The first datagram may arrive before the pages of the buffer are present.
  std::optional<Completion> completion;
  for (int i = 0; i < 100 && !completion; ++i) {
    Post(a(), qa, wqe, a().Bytes(0, 1'000));
    completion = b().Wait(nullptr, Milliseconds(50));
  }
  ASSERT_TRUE(completion.has_value());
  EXPECT_EQ(completion->byte_count, 1'040U);
  EXPECT_EQ(completion->source_qp.value(), qa.number().value());
  EXPECT_TRUE(completion->has_grh);
  EXPECT_TRUE(b().Holds(there(40), 1'000, 3));
  // The last bytes of the header before the payload are the destination address.
  const auto address = b().address().bytes;
  EXPECT_EQ(std::memcmp(b().memory().data() + there(36), &address[12], 4), 0);
  ASSERT_TRUE(a().adapter().DestroyAddressHandle(*handle).has_value());
  EXPECT_FALSE(a().adapter().DestroyAddressHandle(*handle).has_value());
}

TEST_P(TrafficTest, LoopbackUsesNoSocket) {
  QueuePair& qa = a().MakeQp(QpType::kRc);
  QueuePair& qb = b().MakeQp(QpType::kRc);
  Connect(a(), qa, b(), qb);
  Post(a(), qa, MakeSend(SendOpcode::kWrite, 1, b().Remote(there(0))), a().Bytes(0, 5'000));
  Expect(a(), 1, CompletionOpcode::kWrite, 5'000);
  const AdapterReport report = *a().adapter().Query();
  if (GetParam().shares_adapter) {
    EXPECT_GT(report.port.loopback_packets, 0U);
    EXPECT_EQ(report.sent.datagrams, 0U);
  } else {
    EXPECT_EQ(report.port.loopback_packets, 0U);
    EXPECT_GT(report.sent.datagrams, 0U);
    EXPECT_GT(report.received.datagrams, 0U);
  }
  for (size_t i = 0; i < kDrops; ++i) EXPECT_EQ(report.port.dropped[i], 0U) << i;
}

INSTANTIATE_TEST_SUITE_P(Places, TrafficTest,
                         testing::Values(Place{"Ipv4", "127.0.0.1", "127.0.0.1", false, false},
                                         Place{"Ipv4TwoAddresses", "127.0.0.1", "127.0.0.2", false,
                                               false},
                                         Place{"Ipv4Plain", "127.0.0.1", "127.0.0.1", false, true},
                                         Place{"Ipv6", "::1", "::1", false, false},
                                         Place{"ShortCut", "127.0.0.1", "127.0.0.1", true, false},
                                         Place{"ShortCutIpv6", "::1", "::1", true, false}),
                         [](const auto& test) { return test.param.name; });

class QpControlTest : public testing::Test {
 protected:
  TestNode a_{"127.0.0.1"}, b_{"127.0.0.1"};
};

TEST_F(QpControlTest, NumbersCarryTheEndpointAndStatesAreReported) {
  QueuePair& qa = a_.MakeQp(QpType::kRc);
  EXPECT_EQ(EndpointOf(qa.number()), a_.adapter().endpoint());
  EXPECT_NE(a_.adapter().endpoint(), b_.adapter().endpoint());
  EXPECT_EQ(a_.adapter().port(), TestBasePort() + a_.adapter().endpoint().value());
  EXPECT_EQ(a_.adapter().Query(qa)->state, QpState::kReset);
  Succeed(ToInit(a_, qa));
  const auto report = a_.adapter().Query(qa);
  EXPECT_EQ(report->state, QpState::kInit);
  EXPECT_EQ(report->attributes.access, Access::kRemote);
  EXPECT_FALSE(report->path.has_value());
}

TEST_F(QpControlTest, AResetReleasesThePath) {
  AdapterOptions options = TestOptions();
  options.paths_max = 1;
  TestNode node("127.0.0.1", 4'096, options);
  QueuePair& qp = node.MakeQp(QpType::kRc);
  QpChange reset;
  reset.attributes.state = QpState::kReset;
  reset.mask = Attribute::kState;
  for (int i = 0; i < 3; ++i) {
    Succeed(ToInit(node, qp));
    Succeed(ToRtr(node, qp, PathFrom(node, b_), QpNumber(0x123)));
    Succeed(node.adapter().Modify(qp, reset));
  }
}

TEST_F(QpControlTest, RefusesInvalidStateTransitions) {
  QueuePair& qa = a_.MakeQp(QpType::kRc);
  const auto early = ToRts(a_, qa);
  ASSERT_FALSE(early.has_value());
  EXPECT_EQ(early.error().code, ErrorCode::kInvalid);
  EXPECT_NE(early.error().text.find("RESET"), std::string::npos) << early.error().text;
  EXPECT_EQ(a_.adapter().Query(qa)->state, QpState::kReset);
}

TEST_F(QpControlTest, RefusesSendsBeforeRts) {
  QueuePair& qa = a_.MakeQp(QpType::kRc);
  const queue::SendWqe wqe = MakeSend(SendOpcode::kSend, 1);
  EXPECT_EQ(a_.adapter().PostSend(qa, {.wqe = wqe}).error(), PostReason::kSendsNeedRts);
  EXPECT_EQ(a_.adapter().PostReceive(qa, {}).error(), PostReason::kReceivesNeedInit);
  Succeed(ToInit(a_, qa));
  EXPECT_TRUE(a_.adapter().PostReceive(qa, {}).has_value());
  EXPECT_EQ(a_.adapter().PostSend(qa, {.wqe = wqe}).error(), PostReason::kSendsNeedRts);
}

TEST_F(QpControlTest, AQueueRefusesMoreThanItsDepth) {
  QueuePair& qa = a_.MakeQp(QpType::kRc);
  Succeed(ToInit(a_, qa));
  for (int i = 0; i < 64; ++i) ASSERT_TRUE(a_.adapter().PostReceive(qa, {}).has_value());
  EXPECT_EQ(a_.adapter().PostReceive(qa, {}).error(), PostReason::kQueueFull);
}

TEST_F(QpControlTest, ErrorFlushesPostedAndLaterRequests) {
  QueuePair& qa = a_.MakeQp(QpType::kRc);
  Succeed(ToInit(a_, qa));
  ASSERT_TRUE(a_.adapter().PostReceive(qa, {.wqe = {.id = WrId(1)}}).has_value());
  QpChange change;
  change.attributes.state = QpState::kErr;
  change.mask = Attribute::kState;
  Succeed(a_.adapter().Modify(qa, change));
  ASSERT_TRUE(a_.adapter().PostReceive(qa, {.wqe = {.id = WrId(2)}}).has_value());
  for (const uint64_t id : {1U, 2U}) {
    const auto completion = a_.Wait();
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->id.value(), id);
    EXPECT_EQ(completion->status, CompletionStatus::kFlushed);
  }
}

// Through a whole connection, back to RESET, and through another connection.
TEST_F(QpControlTest, ResetClearsAllState) {
  QueuePair& qa = a_.MakeQp(QpType::kRc);
  QueuePair& qb = b_.MakeQp(QpType::kRc);
  for (uint64_t round = 1; round <= 3; ++round) {
    Connect(a_, qa, b_, qb);
    for (int i = 0; i < 10; ++i) PostReceive(a_, qa, 77, a_.Bytes(0, 8));
    Post(a_, qa, MakeSend(SendOpcode::kWrite, round, b_.Remote(0)), a_.Bytes(0, 5'000));
    const auto completion = a_.Wait();
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->id.value(), round);
    EXPECT_EQ(completion->status, CompletionStatus::kSuccess);
    QpChange reset;
    reset.attributes.state = QpState::kReset;
    reset.mask = Attribute::kState;
    Succeed(a_.adapter().Modify(qa, reset));
    Succeed(b_.adapter().Modify(qb, reset));
    EXPECT_FALSE(a_.Wait(nullptr, Milliseconds(1)).has_value())
        << "a flushed receive has a completion";
  }
}

TEST_F(QpControlTest, ObjectsInUseAreNotDestroyed) {
  QueuePair& qa = a_.MakeQp(QpType::kUd);
  EXPECT_EQ(a_.adapter().Destroy(&a_.cq()).error().code, ErrorCode::kInUse);
  EXPECT_EQ(a_.adapter().DeallocatePd(a_.pd()).error().code, ErrorCode::kInUse);
  const IpAddress group = TestIp("239.1.2.3");
  Succeed(a_.adapter().AttachMulticast(qa, group));
  EXPECT_EQ(a_.adapter().Destroy(&qa).error().code, ErrorCode::kInUse);
  Succeed(a_.adapter().DetachMulticast(qa, group));
  EXPECT_FALSE(a_.adapter().AttachMulticast(qa, TestIp("10.0.0.1")).has_value());
  Succeed(a_.adapter().Destroy(&qa));
  Succeed(a_.adapter().Destroy(&a_.cq()));
}

TEST_F(QpControlTest, ErrorsNameTheLimit) {
  AdapterOptions options = TestOptions();
  options.qps_max = 1;
  TestNode small("127.0.0.1", 4'096, options);
  small.MakeQp(QpType::kRc);
  const auto second = small.adapter().CreateQp(small.Spec(QpType::kRc));
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kLimit);
  EXPECT_NE(second.error().text.find("qps_max"), std::string::npos);
  QpInit deep = small.Spec(QpType::kRc);
  deep.send.capacity = options.queue_depth_max + 1;
  EXPECT_EQ(small.adapter().CreateQp(deep).error().code, ErrorCode::kLimit);
  QpInit incomplete = small.Spec(QpType::kRc);
  incomplete.send_cq = nullptr;
  EXPECT_EQ(small.adapter().CreateQp(incomplete).error().code, ErrorCode::kInvalid);
}

TEST_F(QpControlTest, RetriesToADeadPeerFail) {
  QueuePair& qa = a_.MakeQp(QpType::kRc);
  QueuePair& qb = b_.MakeQp(QpType::kRc);
  Connect(a_, qa, b_, qb, {.timeout = 10, .retry_count = 2});  // 4.2 ms, three tries
  b_.CloseAdapter();
  const Time start = Now();
  Post(a_, qa, MakeSend(SendOpcode::kWrite, 1, {RemoteAddress{}}), a_.Bytes(0, 64));
  const auto completion = a_.Wait();
  ASSERT_TRUE(completion.has_value());
  EXPECT_EQ(completion->status, CompletionStatus::kRetryExceeded);
  EXPECT_LT(Now() - start, Seconds(2));
  EXPECT_EQ(a_.adapter().Query(qa)->state, QpState::kErr);
}

// The same while no thread polls: the progress thread runs the timers.
TEST_F(QpControlTest, TimersRunWhileNoThreadPolls) {
  QueuePair& qa = a_.MakeQp(QpType::kRc);
  QueuePair& qb = b_.MakeQp(QpType::kRc);
  Connect(a_, qa, b_, qb, {.timeout = 10, .retry_count = 2});
  b_.CloseAdapter();
  Post(a_, qa, MakeSend(SendOpcode::kWrite, 1, {RemoteAddress{}}), a_.Bytes(0, 64));
  const Time end = Now() + Seconds(20);
  while (a_.adapter().Query(qa)->state != QpState::kErr && Now() < end) usleep(1'000);
  EXPECT_EQ(a_.cq().size(), 1U);
}

TEST_F(QpControlTest, AQueuePairCanBeDestroyedDuringTraffic) {
  for (int round = 0; round < 20; ++round) {
    QueuePair& qa = a_.MakeQp(QpType::kRc);
    QueuePair& qb = b_.MakeQp(QpType::kRc);
    Connect(a_, qa, b_, qb, {.timeout = 10, .retry_count = 1});
    for (uint64_t i = 0; i < 8; ++i) {
      Post(a_, qa, MakeSend(SendOpcode::kWrite, i, b_.Remote(0)), a_.Bytes(0, 200'000));
      Post(a_, qa, MakeSend(SendOpcode::kRead, i, b_.Remote(0)), a_.Bytes(0, 200'000));
    }
    static_cast<void>(b_.Wait(nullptr, Microseconds(100)));
    Succeed(round % 2 == 0 ? b_.adapter().Destroy(&qb) : a_.adapter().Destroy(&qa));
    static_cast<void>(a_.Wait(nullptr, Microseconds(500)));
    Succeed(round % 2 == 0 ? a_.adapter().Destroy(&qa) : b_.adapter().Destroy(&qb));
    EXPECT_EQ(a_.cq().size(), 0U) << "completions of a queue pair that is gone";
  }
}

// No request is left behind, so everything can be destroyed.
TEST_F(QpControlTest, SharedReceiveQueueGetsBackTakenRequests) {
  Srq* const srq = *b_.adapter().CreateSrq(b_.pd(), 4, 1, &b_.events());
  QueuePair& qa = a_.MakeQp(QpType::kRc);
  QpInit spec = b_.Spec(QpType::kRc);
  spec.srq = srq;
  QueuePair& qb = **b_.adapter().CreateQp(spec);
  Connect(a_, qa, b_, qb);
  Succeed(b_.adapter().SetLimit(*srq, 2));
  for (uint64_t i = 0; i < 3; ++i) {
    const Sge bytes = b_.Bytes(i * 100'000, 100'000);
    ASSERT_TRUE(
        b_.adapter().PostReceive(*srq, {.wqe = {.id = WrId(i)}, .sges = {&bytes, 1}}).has_value());
  }
  a_.Fill(0, 100'000, 1);
  for (uint64_t i = 0; i < 2; ++i) {
    Post(a_, qa, MakeSend(SendOpcode::kSend, i), a_.Bytes(0, 100'000));
    const auto completion = b_.Wait();
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->id.value(), i);
    EXPECT_TRUE(b_.Holds(i * 100'000, 100'000, 1));
  }
  // Three were posted and two taken: fewer than two are left.
  const auto event = b_.events().Wait();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->type, AsyncEventType::kSrqLimitReached);
  EXPECT_EQ(event->srq, srq);
  EXPECT_EQ(b_.adapter().Destroy(srq).error().code, ErrorCode::kInUse);
  // The third message is incomplete.
  Post(a_, qa, MakeSend(SendOpcode::kSend, 2), a_.Bytes(0, 100'000));
  Succeed(b_.adapter().Destroy(&qb));
  EXPECT_TRUE(srq->IsConsistent());
  Succeed(b_.adapter().Destroy(srq));
}

TEST(AdapterEventsTest, DestroyingAQueuePairDropsItsEvents) {
  TestNode node("127.0.0.1");
  QueuePair& gone = node.MakeQp(QpType::kRc);
  QueuePair& stays = node.MakeQp(QpType::kRc);
  node.events().Raise({.type = AsyncEventType::kQpFatal, .qp = gone.number()});
  node.events().Raise({.type = AsyncEventType::kQpFatal, .qp = stays.number()});
  Succeed(node.adapter().Destroy(&gone));
  const auto event = node.events().Wait();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->qp, stays.number());
  EXPECT_FALSE(node.events().has_events());
}

}  // namespace
}  // namespace verbena::adapter
