#include "adapter/control/adapter.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/support/adapter_world.h"

namespace verbena::adapter {
namespace {
using queue::SendOpcode;
using Wanted = queue::CompletionQueue::Wanted;

Duration ProcessorTime() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& t) { return Seconds(t.tv_sec) + Microseconds(t.tv_usec); };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

class AdapterTest : public testing::Test {
 protected:
  TestNode a_{"127.0.0.1"}, b_{"127.0.0.1"};
};

TEST_F(AdapterTest, OpenFailsIfThePortIsTaken) {
  AdapterOptions options = TestOptions();
  options.strict = true;
  const auto strict = Adapter::Open(options);
  ASSERT_FALSE(strict.has_value());
  EXPECT_EQ(strict.error().code, ErrorCode::kSystem);
  EXPECT_NE(strict.error().text.find(std::to_string(options.base_port)), std::string::npos)
      << strict.error().text;
}

TEST_F(AdapterTest, ListsTheAddressesOfTheMachine) {
  const auto addresses = Adapter::LocalAddresses();
  ASSERT_TRUE(addresses.has_value());
  EXPECT_FALSE(addresses->empty());
  const auto mtu = Adapter::LargestMtu(PathFrom(a_, b_));
  ASSERT_TRUE(mtu.has_value());
  EXPECT_EQ(*mtu, PathMtu::k4096);
  // A warning is returned once.
  static_cast<void>(a_.adapter().TakeWarnings());
  EXPECT_TRUE(a_.adapter().TakeWarnings().empty());
}

TEST_F(AdapterTest, AnEventWakesASleeper) {
  CompletionChannel* const channel = *b_.adapter().CreateChannel();
  Cq* const cq = *b_.adapter().CreateCq(16, channel);
  QpInit spec = b_.Spec(QpType::kRc);
  spec.receive_cq = cq;
  QueuePair& qa = a_.MakeQp(QpType::kRc);
  QueuePair& qb = **b_.adapter().CreateQp(spec);
  Connect(a_, qa, b_, qb);
  for (uint64_t i = 0; i < 50; ++i) {
    PostReceive(b_, qb, i, b_.Bytes(0, 64));
    b_.adapter().RequestNotify(*cq, Wanted::kAll);
    // The rule of the verbs: arm, poll once more, sleep.
    std::array<Completion, 1> out;
    ASSERT_EQ(*b_.adapter().Poll(*cq, out), 0U);
    Post(a_, qa, MakeSend(SendOpcode::kSend, i), a_.Bytes(0, 64));
    ASSERT_EQ(channel->Wait(), cq);
    ASSERT_EQ(*b_.adapter().Poll(*cq, out), 1U);
    EXPECT_EQ(out[0].id.value(), i);
    ASSERT_TRUE(a_.Wait().has_value());
  }
}

TEST_F(AdapterTest, OneSidedRequestsAreServedWhileNoThreadPolls) {
  QueuePair& qa = a_.MakeQp(QpType::kRc);
  QueuePair& qb = b_.MakeQp(QpType::kRc);
  Connect(a_, qa, b_, qb);
  b_.Fill(0, 100'000, 7);
  for (uint64_t i = 0; i < 20; ++i) {
    Post(a_, qa, MakeSend(SendOpcode::kRead, i, b_.Remote(0)), a_.Bytes(0, 100'000));
    const auto completion = a_.Wait();
    ASSERT_TRUE(completion.has_value());
    ASSERT_EQ(completion->status, CompletionStatus::kSuccess);
  }
  EXPECT_TRUE(a_.Holds(0, 100'000, 7));
}

TEST_F(AdapterTest, AThousandIdleConnectionsCauseNoWakeUps) {
  constexpr int kQps = 1'000;
  std::vector<std::pair<QueuePair*, QueuePair*>> pairs;
  for (int i = 0; i < kQps; ++i) {
    QueuePair& qa = a_.MakeQp(QpType::kRc);
    QueuePair& qb = b_.MakeQp(QpType::kRc);
    Connect(a_, qa, b_, qb, {.timeout = 12});  // 17 ms: late packets are gone soon
    pairs.emplace_back(&qa, &qb);
  }
  for (int i = 0; i < kQps; ++i) {
    Post(a_, *pairs[static_cast<size_t>(i)].first, MakeSend(SendOpcode::kWrite, 1, b_.Remote(0)),
         a_.Bytes(0, 64));
    ASSERT_EQ(a_.Wait()->status, CompletionStatus::kSuccess);
  }
  usleep(100'000);  // polling, its timers and the progress thread have come to rest
  const uint64_t before = a_.adapter().Query()->progress_thread_wake_ups +
                          b_.adapter().Query()->progress_thread_wake_ups;
  const Duration used = ProcessorTime();
  usleep(1'000'000);
  const Duration cost = ProcessorTime() - used;
  const uint64_t after = a_.adapter().Query()->progress_thread_wake_ups +
                         b_.adapter().Query()->progress_thread_wake_ups;
  EXPECT_EQ(after - before, 0U);
  EXPECT_LT(cost, Milliseconds(10));
}

TEST_F(AdapterTest, RandomDatagramsAreCountedAndDropped) {
  QueuePair& qa = a_.MakeQp(QpType::kRc);
  QueuePair& qb = b_.MakeQp(QpType::kRc);
  Connect(a_, qa, b_, qb);
  const int file = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(b_.adapter().port());
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  Random random(1);
  std::vector<uint8_t> noise(2'048);
  a_.Fill(0, 64'000, 3);
  for (uint64_t i = 0; i < 200; ++i) {
    for (int packet = 0; packet < 10; ++packet) {
      for (uint8_t& byte : noise) byte = static_cast<uint8_t>(random.Next64());
      const size_t size = random.Between(1, noise.size());
      // Half of them look like a write to the connection, except for the ICRC.
      if (packet % 2 == 0 && size >= 44) {
        noise[0] = 0x0A;  // RC RDMA WRITE Only
        noise[1] = 0;
        noise[2] = noise[3] = 0xFF;
        noise[5] = static_cast<uint8_t>(qb.number().value() >> 16);
        noise[6] = static_cast<uint8_t>(qb.number().value() >> 8);
        noise[7] = static_cast<uint8_t>(qb.number().value());
      }
      sendto(file, noise.data(), packet % 2 == 0 ? size & ~size_t{3} : size, 0,
             reinterpret_cast<const sockaddr*>(&to), sizeof to);
    }
    Post(a_, qa, MakeSend(SendOpcode::kWrite, i, b_.Remote(0)), a_.Bytes(0, 64'000));
    const auto completion = a_.Wait();
    ASSERT_TRUE(completion.has_value());
    ASSERT_EQ(completion->status, CompletionStatus::kSuccess);
  }
  close(file);
  EXPECT_TRUE(b_.Holds(0, 64'000, 3));
  const PortCounters counters = b_.adapter().Query()->port;
  EXPECT_GT(counters.dropped_for(Drop::kMalformed), 500U);
  EXPECT_GT(counters.dropped_for(Drop::kBadIcrc), 500U);
}

// A child may use its copy, and the parent is not affected.
TEST_F(AdapterTest, AForkedChildDoesNotDisturbItsParent) {
  QueuePair& qa = a_.MakeQp(QpType::kRc);
  QueuePair& qb = b_.MakeQp(QpType::kRc);
  Connect(a_, qa, b_, qb);
  a_.Fill(0, 64, 1);
  const pid_t child = fork();
  if (child == 0) {
    std::array<Completion, 1> out;
    bool right = a_.adapter().AllocatePd().error().code == ErrorCode::kForked;
    right &= a_.adapter().Destroy(&qa).error().code == ErrorCode::kForked;
    right &= a_.adapter().PostSend(qa, {}).error() == PostReason::kForked;
    right &= a_.adapter().PostReceive(qa, {}).error() == PostReason::kForked;
    right &= *a_.adapter().Poll(a_.cq(), out) == 0;
    a_.adapter().Kick(qa);
    a_.adapter().Progress(a_.cq());
    a_.adapter().RequestNotify(a_.cq(), Wanted::kAll);
    right &= a_.adapter().CreateEventQueue().error().code == ErrorCode::kForked;
    right &= a_.adapter().Destroy(&a_.events()).error().code == ErrorCode::kForked;
    a_.CloseAdapter();
    b_.CloseAdapter();
    // An adapter that the child opens works.
    const auto own = Adapter::Open(TestOptions());
    right &= own.has_value() && (*own)->AllocatePd().has_value();
    _exit(right ? 0 : 1);
  }
  for (uint64_t i = 0; i < 100; ++i) {
    Post(a_, qa, MakeSend(SendOpcode::kWrite, i, b_.Remote(0)), a_.Bytes(0, 64));
    ASSERT_EQ(a_.Wait()->status, CompletionStatus::kSuccess);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  Post(a_, qa, MakeSend(SendOpcode::kWrite, 1, b_.Remote(0)), a_.Bytes(0, 64));
  EXPECT_EQ(a_.Wait()->status, CompletionStatus::kSuccess);
}

TEST_F(AdapterTest, ClosesWhileRequestsAreOutstanding) {
  for (int i = 0; i < 5; ++i) {
    TestNode node("127.0.0.1");
    QueuePair& qa = node.MakeQp(QpType::kRc);
    QueuePair& qb = b_.MakeQp(QpType::kRc);
    Connect(node, qa, b_, qb, {.timeout = 8, .retry_count = 0});
    for (uint64_t id = 0; id < 16; ++id) {
      Post(node, qa, MakeSend(SendOpcode::kWrite, id, b_.Remote(0)), node.Bytes(0, 300'000));
    }
  }
}

class AdapterThreads : public AdapterTest {};

// Threads post and poll concurrently; each request completes although no thread looks for it twice.
TEST_F(AdapterThreads, NoKickIsLost) {
  constexpr uint64_t kThreads = 3;
  constexpr uint64_t kRounds = 300;
  std::vector<std::pair<QueuePair*, Cq*>> qps;
  for (uint64_t t = 0; t < kThreads; ++t) {
    Cq* const cq = *a_.adapter().CreateCq(64, nullptr);
    QpInit spec = a_.Spec(QpType::kRc);
    spec.send_cq = spec.receive_cq = cq;
    QueuePair& qa = **a_.adapter().CreateQp(spec);
    QueuePair& qb = b_.MakeQp(QpType::kRc);
    Connect(a_, qa, b_, qb, {.timeout = 20});  // 4 s: long enough to notice a lost kick
    qps.emplace_back(&qa, cq);
  }
  std::atomic<uint64_t> done = 0;
  std::atomic<bool> slow = false;
  std::vector<std::jthread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const auto [qp, cq] = qps[t];
      for (uint64_t i = 0; i < kRounds; ++i) {
        const Time start = Now();
        Post(a_, *qp, MakeSend(SendOpcode::kWrite, i, b_.Remote(t * 1'000)), a_.Bytes(0, 500));
        const auto completion = a_.Wait(cq);
        if (completion && completion->status == CompletionStatus::kSuccess) ++done;
        if (Now() - start > Seconds(3)) slow = true;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(done, kThreads * kRounds);
  EXPECT_FALSE(slow);
}

// Control calls run while other threads move data.
TEST_F(AdapterThreads, ControlAndDataAtOnce) {
  QueuePair& qa = a_.MakeQp(QpType::kRc);
  QueuePair& qb = b_.MakeQp(QpType::kRc);
  Connect(a_, qa, b_, qb);
  std::atomic<bool> stops = false;
  std::jthread control([&] {
    while (!stops) {
      const auto keys = a_.Register(Access::kLocalRead);
      QueuePair& qp = a_.MakeQp(QpType::kUd);
      Succeed(ToInit(a_, qp));
      Succeed(a_.adapter().Destroy(&qp));
      Succeed(a_.adapter().DeregisterRegion(keys->local));
      static_cast<void>(a_.adapter().Query());
    }
  });
  std::jthread server([&] {
    while (!stops) static_cast<void>(b_.Wait(nullptr, Milliseconds(1)));
  });
  for (uint64_t i = 0; i < 500; ++i) {
    Post(a_, qa, MakeSend(SendOpcode::kWrite, i, b_.Remote(0)), a_.Bytes(0, 5'000));
    const auto completion = a_.Wait();
    ASSERT_TRUE(completion.has_value());
    ASSERT_EQ(completion->status, CompletionStatus::kSuccess);
  }
  stops = true;
}

}  // namespace
}  // namespace verbena::adapter
