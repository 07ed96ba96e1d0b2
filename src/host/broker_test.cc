#include "host/broker.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "host/agent.h"
#include "host/channel.h"
#include "host/operator_client.h"
#include "tests/support/fake_guest_memory.h"

namespace verbena::host {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

bool Eventually(const std::function<bool()>& condition, Duration patience = Seconds(60)) {
  for (const Time end = Now() + patience; Now() < end; usleep(1'000)) {
    if (condition()) return true;
  }
  return condition();
}

// A broker on a thread of its own, which can be killed and started again.
class BrokerThreads : public testing::Test {
 protected:
  BrokerThreads() {
    std::string folder = "/tmp/verbena-broker-XXXXXX";
    folder_ = mkdtemp(folder.data());
    options_.socket = folder_ + "/broker.sock";
    options_.arbiter.budget = 64 * kMiB;
  }
  ~BrokerThreads() override {
    Stop();
    std::filesystem::remove_all(folder_);
  }

  void Start() {
    stop_ = false;
    auto broker = Broker::Open(options_);
    ASSERT_TRUE(broker) << broker.error().text;
    thread_ = std::thread([this, broker = std::move(*broker)] {
      while (!stop_) broker->Step(Milliseconds(20));
    });
  }
  void Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }

  [[nodiscard]] AgentOptions Guest(const char* name) const {
    return {.socket = options_.socket, .name = name, .limits = {.min = kMiB}};
  }
  [[nodiscard]] std::vector<StatusRowMessage> Rows() const {
    const auto status = QueryStatus(options_.socket);
    return status ? status->guests : std::vector<StatusRowMessage>();
  }

  std::string folder_;
  BrokerOptions options_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

TEST_F(BrokerThreads, AGuestGetsWhatItNeeds) {
  Start();
  FakeGuestMemory memory(32 * kMiB);
  const auto agent = Agent::Start(Guest("one"), memory);
  ASSERT_TRUE(agent) << agent.error().text;
  EXPECT_GE(memory.budget(), kMiB);
  memory.Touch(32 * kMiB);
  EXPECT_TRUE(Eventually([&] { return memory.resident() == 32 * kMiB; }));
}

TEST_F(BrokerThreads, TheSumIsWithinTheBudgetAtAllTimes) {
  Start();
  FakeGuestMemory first(64 * kMiB), second(64 * kMiB), third(64 * kMiB);
  const auto one = Agent::Start(Guest("one"), first);
  ASSERT_TRUE(one);
  first.Touch(64 * kMiB);
  ASSERT_TRUE(Eventually([&] { return first.resident() > 60 * kMiB; }));
  const auto two = Agent::Start(Guest("two"), second);
  const auto three = Agent::Start(Guest("three"), third);
  ASSERT_TRUE(two && three);
  second.Touch(64 * kMiB);
  third.Touch(64 * kMiB);
  const auto is_divided = [&] {
    EXPECT_LE(first.resident() + second.resident() + third.resident(), 64 * kMiB);
    return first.resident() < 23 * kMiB && second.resident() > 18 * kMiB &&
           third.resident() > 18 * kMiB;
  };
  EXPECT_TRUE(Eventually(is_divided));
}

TEST_F(BrokerThreads, WithoutABrokerThereIsNoGuest) {
  FakeGuestMemory memory(kMiB);
  const auto agent = Agent::Start(Guest("one"), memory);
  ASSERT_FALSE(agent);
  EXPECT_NE(agent.error().text.find("no broker answers at"), std::string::npos);
}

// Its socket is still there.
TEST_F(BrokerThreads, AGuestWaitsForABrokerThatHasDied) {
  { const auto dead = ListenAt(options_.socket); }
  std::thread restart([this] {
    usleep(200'000);
    Start();
  });
  FakeGuestMemory memory(kMiB);
  const auto agent = Agent::Start(Guest("one"), memory);
  restart.join();
  EXPECT_TRUE(agent) << agent.error().text;
}

TEST_F(BrokerThreads, AGuestWhoseBrokerDiesWhileItAttachesCallsTheNext) {
  auto dying = ListenAt(options_.socket);
  ASSERT_TRUE(dying);
  std::thread restart([this, &dying] {
    pollfd call{.fd = dying->get(), .events = POLLIN, .revents = 0};
    poll(&call, 1, 10'000);
    { const FileDescriptor guest(accept(dying->get(), nullptr, nullptr)); }
    *dying = FileDescriptor();
    usleep(100'000);
    Start();
  });
  FakeGuestMemory memory(kMiB);
  const auto agent = Agent::Start(Guest("one"), memory);
  restart.join();
  EXPECT_TRUE(agent) << agent.error().text;
}

TEST_F(BrokerThreads, AGuestDoesNotWaitForADeadBrokerForEver) {
  { const auto dead = ListenAt(options_.socket); }
  FakeGuestMemory memory(kMiB);
  AgentOptions guest = Guest("one");
  guest.attach_patience = Milliseconds(50);
  const Time start = Now();
  const auto agent = Agent::Start(guest, memory);
  ASSERT_FALSE(agent);
  EXPECT_NE(agent.error().text.find("no broker answers at"), std::string::npos);
  EXPECT_GE(Now() - start, Milliseconds(50));
}

TEST_F(BrokerThreads, ARefusalSaysWhy) {
  Start();
  FakeGuestMemory memory(kMiB);
  AgentOptions greedy = Guest("greedy");
  greedy.limits.min = 65 * kMiB;
  const auto agent = Agent::Start(greedy, memory);
  ASSERT_FALSE(agent);
  EXPECT_NE(agent.error().text.find("does not fit"), std::string::npos) << agent.error().text;
  EXPECT_FALSE(Agent::Start(Guest("a name"), memory));
}

TEST_F(BrokerThreads, TheOperatorsLimitsTakeThePlaceOfTheGuests) {
  options_.limits["small"] = {.min = kMiB, .max = 2 * kMiB, .weight = 1};
  options_.asked_min_max = 4 * kMiB;
  Start();
  FakeGuestMemory memory(32 * kMiB);
  const auto agent = Agent::Start(Guest("small"), memory);
  ASSERT_TRUE(agent);
  memory.Touch(32 * kMiB);
  EXPECT_TRUE(Eventually([&] { return memory.resident() == 2 * kMiB; }));
  AgentOptions other = Guest("other");
  other.limits.min = 5 * kMiB;
  EXPECT_FALSE(Agent::Start(other, memory));
}

TEST_F(BrokerThreads, AGuestThatEndsGivesEverythingBack) {
  Start();
  FakeGuestMemory first(64 * kMiB), second(64 * kMiB);
  {
    const auto one = Agent::Start(Guest("one"), first);
    ASSERT_TRUE(one);
    first.Touch(64 * kMiB);
    ASSERT_TRUE(Eventually([&] { return first.resident() > 60 * kMiB; }));
  }
  EXPECT_TRUE(Eventually([&] { return Rows().empty(); }));
  const auto two = Agent::Start(Guest("two"), second);
  ASSERT_TRUE(two);
  second.Touch(64 * kMiB);
  EXPECT_TRUE(Eventually([&] { return second.resident() == 64 * kMiB; }));
}

TEST_F(BrokerThreads, AKilledGuestGivesEverythingBack) {
  Start();
  const pid_t child = fork();
  if (child == 0) {
    FakeGuestMemory memory(64 * kMiB);
    const auto agent = Agent::Start(Guest("victim"), memory);
    memory.Touch(64 * kMiB);
    pause();
    _exit(1);
  }
  ASSERT_TRUE(Eventually([&] {
    const auto rows = Rows();
    return rows.size() == 1 && rows[0].resident == 64 * kMiB;
  }));
  kill(child, SIGKILL);
  EXPECT_TRUE(Eventually([&] { return Rows().empty(); }, Seconds(2)));
  waitpid(child, nullptr, 0);
}

TEST_F(BrokerThreads, ADeafGuestLosesItsOwnBytesOnly) {
  options_.arbiter.release_time = Milliseconds(300);
  Start();
  FakeGuestMemory deaf(64 * kMiB), other(64 * kMiB);
  const auto one = Agent::Start(Guest("deaf"), deaf);
  ASSERT_TRUE(one);
  deaf.Touch(64 * kMiB);
  ASSERT_TRUE(Eventually([&] { return deaf.resident() == 64 * kMiB; }));
  deaf.Disobey();
  const auto two = Agent::Start(Guest("other"), other);
  ASSERT_TRUE(two) << two.error().text;
  other.Touch(64 * kMiB);
  EXPECT_TRUE(Eventually([&] { return other.resident() >= 28 * kMiB; }));
  const auto rows = Rows();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_GT(rows[0].punched, 0U);
  EXPECT_EQ(rows[1].punched, 0U);
}

TEST_F(BrokerThreads, GuestsKeepWhatTheyHaveWhenTheBrokerIsStartedAgain) {
  Start();
  FakeGuestMemory first(64 * kMiB), second(64 * kMiB);
  const auto one = Agent::Start(Guest("one"), first);
  ASSERT_TRUE(one);
  first.Touch(48 * kMiB);
  ASSERT_TRUE(Eventually([&] { return first.resident() == 48 * kMiB; }));
  Stop();
  EXPECT_EQ(first.resident(), 48 * kMiB);
  Start();
  const auto two = Agent::Start(Guest("two"), second);
  ASSERT_TRUE(two) << two.error().text;
  second.Touch(64 * kMiB);
  const auto is_shared = [&] {
    EXPECT_LE(first.resident() + second.resident(), 64 * kMiB);
    return second.resident() > 20 * kMiB && Rows().size() == 2;
  };
  EXPECT_TRUE(Eventually(is_shared));
}

TEST_F(BrokerThreads, TheOperatorQuiescesAndResumes) {
  Start();
  FakeGuestMemory memory(8 * kMiB);
  const auto agent = Agent::Start(Guest("one"), memory);
  ASSERT_TRUE(agent);
  memory.Touch(8 * kMiB);
  const OperateMessage quiesce{.guest = "one", .hold = true};
  ASSERT_TRUE(Eventually([&] { return Operate(options_.socket, quiesce) == 1U; }));
  EXPECT_TRUE(Eventually([&] { return memory.is_out() && memory.resident() == 0; }));
  memory.WantRegion();
  EXPECT_TRUE(Eventually([&] { return Rows().at(0).waiting == 1; }));
  EXPECT_TRUE(memory.is_out()) << "it is held";
  EXPECT_EQ(Operate(options_.socket, {.kind = OperateMessage::Kind::kResume, .guest = "one"}), 1U);
  EXPECT_TRUE(Eventually([&] { return !memory.is_out() && memory.resident() == 8 * kMiB; }));
  ASSERT_EQ(Operate(options_.socket, {.guest = "one"}), 1U);
  EXPECT_TRUE(Eventually([&] { return memory.is_out(); }));
  memory.WantRegion();
  EXPECT_TRUE(Eventually([&] { return !memory.is_out(); })) << "interest brings it back";
}

TEST_F(BrokerThreads, TheOperatorQuiescesAPart) {
  Start();
  FakeGuestMemory memory(8 * kMiB);
  const auto agent = Agent::Start(Guest("one"), memory);
  ASSERT_TRUE(agent);
  OperateMessage quiesce{.guest = "one",
                         .all_regions = false,
                         .region = FakeGuestMemory::kRegion,
                         .part = {.offset = kMiB, .length = 2 * kMiB}};
  ASSERT_TRUE(Eventually([&] { return Operate(options_.socket, quiesce) == 1U; }));
  EXPECT_TRUE(Eventually([&] { return memory.is_out(); }));
  EXPECT_EQ(memory.part(), quiesce.part);
  quiesce.part.offset = 7 * kMiB;
  const auto refused = Operate(options_.socket, quiesce);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text, "the part does not lie in a region of one");
}

// The page of words comes by descriptor, and the broker reads it.
TEST_F(BrokerThreads, TheStatusSaysHowManyOperationsAreOutstanding) {
  Start();
  FakeGuestMemory memory(8 * kMiB);
  memory::CurrentIo io = memory.CountOperations();
  ASSERT_EQ(io.Begin(5), memory::CurrentIo::BeginResult::kStarted);
  const auto agent = Agent::Start(Guest("one"), memory);
  ASSERT_TRUE(agent);
  EXPECT_TRUE(Eventually([&] { return Rows().at(0).operations == 5; }));
  EXPECT_EQ(io.End(4), memory::CurrentIo::EndResult::kMore);
  EXPECT_EQ(Rows().at(0).operations, 1U) << "at once, without a word of the guest";
}

TEST_F(BrokerThreads, AGuestWithAWordThatIsNotThereIsDisconnected) {
  Start();
  auto liar = BrokerChannel::Connect(options_.socket);
  ASSERT_TRUE(liar);
  EXPECT_EQ(liar->Send(HelloMessage{.name = "liar"}), BrokerChannel::Status::kDone);
  EXPECT_EQ(liar->Send(RegionMessage{.region = RegionNumber(1), .bytes = 1, .word = 1}),
            BrokerChannel::Status::kDone);
  EXPECT_TRUE(Eventually([&] {
    while (liar->Receive()) {
    }
    return liar->has_ended();
  }));
}

TEST_F(BrokerThreads, TheOperatorHearsWhatIsWrong) {
  const auto none = QueryStatus(options_.socket);
  ASSERT_FALSE(none);
  Start();
  const auto unknown = Operate(options_.socket, {.guest = "none"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().text, "there is no guest none");
  const auto status = QueryStatus(options_.socket);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->budget, 64 * kMiB);
  EXPECT_TRUE(status->guests.empty());
}

TEST_F(BrokerThreads, GarbageEndsItsConnectionOnly) {
  Start();
  FakeGuestMemory memory(8 * kMiB);
  const auto agent = Agent::Start(Guest("one"), memory);
  ASSERT_TRUE(agent);
  auto bad = BrokerChannel::Connect(options_.socket);
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->Send(GrantMessage{.bytes = 1}), BrokerChannel::Status::kDone);
  EXPECT_TRUE(Eventually([&] {
    static_cast<void>(bad->Receive());
    return bad->has_ended();
  }));
  EXPECT_EQ(Rows().size(), 1U);
}

TEST_F(BrokerThreads, MemoryThatIsNoneEndsTheGuest) {
  Start();
  auto liar = BrokerChannel::Connect(options_.socket);
  ASSERT_TRUE(liar);
  EXPECT_EQ(liar->Send(HelloMessage{.name = "liar"}), BrokerChannel::Status::kDone);
  EXPECT_EQ(liar->Send(MemoryMessage{.number = 1, .bytes = 4096}, STDERR_FILENO),
            BrokerChannel::Status::kDone);
  EXPECT_TRUE(Eventually([&] {
    static_cast<void>(liar->Receive());
    return liar->has_ended();
  }));
}

}  // namespace
}  // namespace verbena::host
