// Memory that is registered by a work request: the next request may use it, the peer gets its key
// in a message and invalidates it with a send.

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/support/pair_fixture.h"

namespace verbena::scenario {
namespace {

constexpr Access kRights = Access::kLocalRead | Access::kLocalWrite | Access::kRemote;

class RegistrationTest : public PairTest {
 protected:
  static constexpr uint64_t kStart = 0x7000'0000;  // virtual address of the new region
  static constexpr uint64_t kLength = 2 * kPage;

  RegistrationTest() { Begin({}); }

  void Begin(const RcSpec& spec) {
    Connect(spec, {});
    key_ = node_a_.core.regions.Reserve(node_a_.pd, 2, PageShift(12))->local;
  }

  // Posts the registration of pages 5 and 9 of A, in this order, as one region with this key.
  void PostRegistration(uint64_t id, Key key, queue::SendOpcode opcode,
                        std::initializer_list<Sge> sges = {}) {
    const queue::RegistrationOperand registration{
        .key = key, .rights = kRights, .page_shift = 12, .start = kStart, .length = kLength};
    const std::array<uint64_t, 2> pages = {node_a_.Physical(5 * kPage).value(),
                                           node_a_.Physical(9 * kPage).value()};
    net_.Post(a(), {.wqe = RequestOf(id, opcode, registration),
                    .sges = {sges.begin(), sges.size()},
                    .pages = pages});
  }
  Sge InRegion(Key key, uint64_t offset, uint32_t length) const {
    return {kStart + offset, length, key};
  }
  RemoteAddress RemoteOf(Key key, uint64_t offset) const { return {kStart + offset, key}; }
  // The next variant of a reserved key.
  static Key NextOf(Key key) {
    return {key.index(), KeyVariant(static_cast<uint8_t>(key.variant().value() + 1))};
  }

  Key key_;
};

TEST_F(RegistrationTest, TheNextRequestMaySendFromIt) {
  net_.PostReceive(b(), 11, {node_b_.Local(0, kPage)});
  PostRegistration(1, key_, queue::SendOpcode::kRegister);
  net_.Post(a(), SendOf(2), {InRegion(key_, kPage - 50, 100)});
  ASSERT_TRUE(net_.RunUntilIdle());
  ExpectSuccess(a().Sent(), {1, 2});
  ExpectSuccess(b().Received(), {11});
  EXPECT_EQ(node_b_.Read(0, 50), node_a_.Read(6 * kPage - 50, 50));
  EXPECT_EQ(node_b_.Read(50, 50), node_a_.Read(9 * kPage, 50));
}

TEST_F(RegistrationTest, TheNextRequestMayReadIntoIt) {
  PostRegistration(1, key_, queue::SendOpcode::kRegister);
  net_.Post(a(), ReadOf(2, node_b_.Remote(0)), {InRegion(key_, kPage - 50, 100)});
  ASSERT_TRUE(net_.RunUntilIdle());
  ExpectSuccess(a().Sent(), {1, 2});
  EXPECT_EQ(node_a_.Read(6 * kPage - 50, 50), node_b_.Read(0, 50));
  EXPECT_EQ(node_a_.Read(9 * kPage, 50), node_b_.Read(50, 50));
}

TEST_F(RegistrationTest, AnInvalidatedKeyIsRefusedAndItsNextVariantIsNot) {
  PostRegistration(1, key_, queue::SendOpcode::kRegister);
  net_.Post(a(), LocalInvalidateOf(2, key_), {});
  const Key next = NextOf(key_);
  PostRegistration(3, next, queue::SendOpcode::kRegister);
  net_.Post(a(), WriteOf(4, node_b_.Remote(0)), {InRegion(next, 0, 10)});
  net_.Post(a(), WriteOf(5, node_b_.Remote(0)), {InRegion(key_, 0, 10)});
  ASSERT_TRUE(net_.RunUntilIdle());
  const auto completions = a().Sent();
  EXPECT_EQ(IdsOf(completions), (std::vector<uint64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(completions.at(3).status, CompletionStatus::kSuccess);
  EXPECT_EQ(completions.at(4).status, CompletionStatus::kLocalProtectionError);
}

// Row B3: the program chooses the effect of a failed registration.
TEST_F(RegistrationTest, InAnticipatoryModeAFailureEndsTheConnection) {
  PostRegistration(1, NextOf(key_), queue::SendOpcode::kRegister);
  net_.Post(a(), WriteOf(2, node_b_.Remote(0)), {node_a_.Local(0, 10)});
  ASSERT_TRUE(net_.RunUntilIdle());
  EXPECT_EQ(StatusesOf(a().Sent()),
            (std::vector{CompletionStatus::kLocalQpOperationError, CompletionStatus::kFlushed}));
  EXPECT_EQ(a().qp->state(), QpState::kErr);
}

// RoCE has no Terminate message, but outstanding requests of the peer get a NAK.
TEST_F(RegistrationTest, InAnticipatoryModeThePeersOutstandingRequestsGetANak) {
  // A receives only the first of three packets.
  uint32_t requests = 0;
  net_.SetLink([&](const Passing& passing) {
    const bool is_held = &passing.from == &b() && passing.is_request() && ++requests > 1;
    return is_held ? LinkAction::Drop() : LinkAction::Pass();
  });
  net_.Post(b(), WriteOf(1, node_a_.Remote(0)), {node_b_.Local(0, 3'000)});
  net_.RunFor(Milliseconds(1));
  PostRegistration(1, NextOf(key_), queue::SendOpcode::kRegister);
  net_.RunFor(Milliseconds(1));
  EXPECT_EQ(a().qp->state(), QpState::kErr);
  EXPECT_EQ(StatusesOf(b().Sent()), std::vector{CompletionStatus::kRemoteOperationError});
  EXPECT_EQ(net_.timeouts(), 0u);
  EXPECT_TRUE(net_.EventsOf(a()).empty()) << "the completion of the registration reports it";
}

TEST_F(RegistrationTest, InAnticipatoryModeAReadOfThePeerGetsANak) {
  node_a_.Evict(0);
  net_.SetPager(
      [](const RcEnd&, const transport::PageRequest&) { return PageAction{.after = Seconds(1)}; });
  net_.Post(b(), ReadOf(1, node_a_.Remote(0)), {node_b_.Local(0, 100)});
  net_.RunFor(Milliseconds(1));
  PostRegistration(1, NextOf(key_), queue::SendOpcode::kRegister);
  net_.RunFor(Milliseconds(1));
  EXPECT_EQ(StatusesOf(b().Sent()), std::vector{CompletionStatus::kRemoteOperationError});
}

TEST_F(RegistrationTest, InReactiveModeAFailureFlushesTheRequestsBehindIt) {
  RcSpec spec;
  spec.config.registration = RegistrationMode::kReactive;
  Begin(spec);
  PostRegistration(1, NextOf(key_), queue::SendOpcode::kRegister);
  net_.Post(a(), WriteOf(2, node_b_.Remote(0)), {node_a_.Local(0, 10)});
  ASSERT_TRUE(net_.RunUntilIdle());
  EXPECT_EQ(StatusesOf(a().Sent()),
            (std::vector{CompletionStatus::kLocalQpOperationError, CompletionStatus::kFlushed}));
  EXPECT_EQ(a().qp->state(), QpState::kSqd);
  EXPECT_EQ(net_.EventsOf(a()), std::vector{AsyncEventType::kSendQueueDrained});

  // A thread may post these before it polls the failure.
  for (const uint64_t id : {uint64_t{8}, uint64_t{9}}) {
    net_.Post(a(), WriteOf(id, node_b_.Remote(0)), {node_a_.Local(0, 10)});
    ASSERT_TRUE(net_.RunUntilIdle());
    EXPECT_EQ(StatusesOf(a().Sent()), std::vector{CompletionStatus::kFlushed});
  }
  EXPECT_EQ(net_.EventsOf(a()).size(), 1u) << "the drain is reported once";

  // The receive side continues, and the send side continues after Resume.
  net_.Post(b(), WriteOf(1, node_a_.Remote(0)), {node_b_.Local(0, 10)});
  a().qp->ResumeSends();
  PostRegistration(3, key_, queue::SendOpcode::kRegister);
  net_.Post(a(), WriteOf(4, node_b_.Remote(kPage)), {InRegion(key_, 0, 10)});
  ASSERT_TRUE(net_.RunUntilIdle());
  ExpectSuccess(b().Sent(), {1});
  ExpectSuccess(a().Sent(), {3, 4});
}

TEST_F(RegistrationTest, ADisabledRegistrationIsAnOperationError) {
  RcSpec spec;
  spec.config.registration = RegistrationMode::kDisabled;
  Begin(spec);
  PostRegistration(1, key_, queue::SendOpcode::kRegister);
  ASSERT_TRUE(net_.RunUntilIdle());
  EXPECT_EQ(StatusesOf(a().Sent()), std::vector{CompletionStatus::kLocalQpOperationError});
  EXPECT_EQ(a().qp->state(), QpState::kErr);
}

// Row B14. A registers and sends the key to B in one request; B uses the key and invalidates it
// with its reply.
class RegisterAndSendTest : public RegistrationTest {
 protected:
  static constexpr uint64_t kMessageBuffer = 15 * kPage;  // on both sides

  // Posts A's request and returns the key that B receives.
  Key SendKey(Key key) {
    const uint32_t value = key.value();
    std::memcpy(node_a_.At(kMessageBuffer), &value, sizeof value);
    net_.PostReceive(b(), 11, {node_b_.Local(kMessageBuffer, 64)});
    PostRegistration(1, key, queue::SendOpcode::kRegisterAndSend,
                     {node_a_.Local(kMessageBuffer, sizeof value)});
    EXPECT_TRUE(net_.RunUntilIdle());
    ExpectSuccess(a().Sent(), {1});
    const auto received = b().Received();
    ExpectSuccess(received, {11});
    EXPECT_EQ(received.at(0).byte_count, sizeof value);
    uint32_t got = 0;
    std::memcpy(&got, node_b_.At(kMessageBuffer), sizeof got);
    return Key(got);
  }
  // Posts B's reply. A's completion reports the invalidated key.
  void Answer(Key key) {
    net_.PostReceive(a(), 21, {node_a_.Local(kMessageBuffer, 64)});
    net_.Post(b(), SendInvalidateOf(3, key), {node_b_.Local(kMessageBuffer, 8)});
    ASSERT_TRUE(net_.RunUntilIdle());
    ExpectSuccess(b().Sent(), {3});
    const auto received = a().Received();
    ExpectSuccess(received, {21});
    EXPECT_TRUE(received.at(0).with_invalidate);
    EXPECT_EQ(received.at(0).invalidated, key);
  }
};

TEST_F(RegisterAndSendTest, ThePeerUsesTheKeyAndInvalidatesIt) {
  const Key key = SendKey(key_);
  ASSERT_EQ(key.value(), key_.value());
  net_.Post(b(), WriteOf(1, RemoteOf(key, kPage - 100)), {node_b_.Local(0, 200)});
  net_.Post(b(), ReadOf(2, RemoteOf(key, 0)), {node_b_.Local(kPage, 100)});
  ASSERT_TRUE(net_.RunUntilIdle());
  ExpectSuccess(b().Sent(), {1, 2});
  EXPECT_EQ(node_a_.Read(6 * kPage - 100, 100), node_b_.Read(0, 100));
  EXPECT_EQ(node_a_.Read(9 * kPage, 100), node_b_.Read(100, 100));
  EXPECT_EQ(node_b_.Read(kPage, 100), node_a_.Read(5 * kPage, 100));

  Answer(key);
  const Bytes before = node_a_.Read(5 * kPage, kPage);
  net_.Post(b(), WriteOf(4, RemoteOf(key, 0)), {node_b_.Local(0, 200)});
  ASSERT_TRUE(net_.RunUntilIdle());
  EXPECT_EQ(StatusesOf(b().Sent()), std::vector{CompletionStatus::kRemoteAccessError});
  EXPECT_EQ(node_a_.Read(5 * kPage, kPage), before) << "the key is invalid";
  EXPECT_EQ(net_.EventsOf(a()), std::vector{AsyncEventType::kQpAccessError});
}

TEST_F(RegisterAndSendTest, TheKeyCanBeRegisteredAgain) {
  Answer(SendKey(key_));
  const Key next = SendKey(NextOf(key_));
  EXPECT_NE(next.value(), key_.value());
  net_.Post(b(), WriteOf(1, RemoteOf(next, 0)), {node_b_.Local(0, 200)});
  ASSERT_TRUE(net_.RunUntilIdle());
  ExpectSuccess(b().Sent(), {1});
  EXPECT_EQ(node_a_.Read(5 * kPage, 200), node_b_.Read(0, 200));
}

// The registration is executed once, although the message is retransmitted.
TEST_F(RegisterAndSendTest, ALostMessageDoesNotRegisterTwice) {
  uint32_t packets = 0;
  net_.SetLink(
      [&](const Passing&) { return ++packets <= 2 ? LinkAction::Drop() : LinkAction::Pass(); });
  Answer(SendKey(key_));
  EXPECT_EQ(a().counters().timeouts, 2u);
}

TEST_F(RegisterAndSendTest, NothingIsSentWhenTheRegistrationFails) {
  bool was_sent = false;
  net_.SetLink([&](const Passing&) {
    was_sent = true;
    return LinkAction::Pass();
  });
  PostRegistration(1, NextOf(key_), queue::SendOpcode::kRegisterAndSend,
                   {node_a_.Local(kMessageBuffer, 4)});
  ASSERT_TRUE(net_.RunUntilIdle());
  EXPECT_EQ(StatusesOf(a().Sent()), std::vector{CompletionStatus::kLocalQpOperationError});
  EXPECT_FALSE(was_sent);
}

}  // namespace
}  // namespace verbena::scenario
