#include "transport/rc/rc_qp.h"

#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/support/rc_net.h"
#include "tests/support/rc_requests.h"

namespace verbena::transport {
namespace {
using queue::SendOpcode;
using scenario::LinkAction;
using scenario::Passing;
using scenario::RcEnd;
using scenario::RcNet;
using scenario::RcNode;

constexpr uint64_t kPages = 64;
constexpr uint64_t kArena = kPages * RcNode::kPage;

// The faults of a link and of memory. All probabilities are out of 1000.
struct LinkFaults {
  uint32_t loss = 0;
  uint32_t duplication = 0;
  Duration jitter = Duration();
  uint32_t eviction = 0;  // per packet, of a page on either side
  uint32_t path_mtu = 1024;
  uint8_t depth = 4;  // outstanding reads and atomics
  uint8_t rnr_retry = 7;
  bool foreign = false;  // the peer does not know the mark of NAKs for absent pages
};

// Two machines and a connection between them, with these faults on the link.
class Connection {
 public:
  Connection(uint64_t seed, const LinkFaults& faults)
      : random_(seed), faults_(faults), a_(net_.AddNode(kPages)), b_(net_.AddNode(kPages)) {
    scenario::RcSpec spec;
    spec.config.path_mtu = faults.path_mtu;
    spec.config.ack_timeout = Milliseconds(4);
    spec.config.rnr_retry = faults.rnr_retry;
    spec.config.max_rd_atomic = spec.config.max_dest_rd_atomic = faults.depth;
    spec.receives.capacity = 64;
    spec.first_psn = Psn(random_.Next32());
    scenario::RcSpec spec_b = spec;
    spec_b.first_psn = Psn(random_.Next32());
    const auto [end_a, end_b] = net_.Connect(a_, b_, spec, spec_b);
    end_a_ = &end_a;
    end_b_ = &end_b;
    net_.SetLink([this](const Passing& passing) { return ActionOf(passing); });
    net_.SetPager([this](const RcEnd& end, const PageRequest&) {
      Note(end, "asks for pages");
      return scenario::PageAction{.after =
                                      Microseconds(static_cast<int64_t>(1 + random_.Below(300)))};
    });
  }

  RcNode& a() { return a_; }
  RcNode& b() { return b_; }
  RcEnd& end_a() { return *end_a_; }
  RcEnd& end_b() { return *end_b_; }
  RcNet& net() { return net_; }
  Random& random() { return random_; }

  // The last packets, for the message of a failed test.
  std::string history() const {
    std::string text;
    for (const std::string& line : history_) text += line + "\n";
    return text;
  }

 private:
  LinkAction ActionOf(const Passing& passing) {
    if (faults_.foreign && !passing.is_request()) {
      wire::Bth bth = passing.packet.bth();
      bth.ack_request = false;
      bth.Serialize(passing.bytes);
    }
    if (random_.Chance(faults_.eviction, 1000)) {
      (random_.Chance(1, 2) ? a_ : b_).Evict(random_.Below(kPages));
    }
    const bool is_lost = random_.Chance(faults_.loss, 1000);
    Note(passing.from, wire::ToString(passing.packet) + (is_lost ? " LOST" : ""));
    if (is_lost) return LinkAction::Drop();
    const int copies = random_.Chance(faults_.duplication, 1000) ? 2 : 1;
    return {.copies = copies, .late = Jitter(), .apart = Jitter()};
  }
  Duration Jitter() {
    const auto most = static_cast<uint64_t>(faults_.jitter.nanoseconds());
    return Nanoseconds(static_cast<int64_t>(random_.Below(most + 1)));
  }
  void Note(const RcEnd& end, const std::string& what) {
    if (history_.size() == 60) history_.pop_front();
    history_.push_back(ToString(net_.now().since_origin()) + (&end == end_a_ ? " A " : " B ") +
                       what);
  }

  RcNet net_;
  Random random_;
  const LinkFaults faults_;
  RcNode& a_;
  RcNode& b_;
  RcEnd* end_a_ = nullptr;
  RcEnd* end_b_ = nullptr;
  std::deque<std::string> history_;
};

// Writes, sends, reads and fetch-and-adds from A to B, each on its own bytes, so that the result is
// known whatever the order of events.
class Workload {
 public:
  Workload(Connection& connection, uint64_t operations)
      : connection_(connection), operations_(operations) {
    connection.b().SetWord(kCounter, 0);
  }

  void Run() {
    while (ended_ < operations_ && !testing::Test::HasFailure()) {
      while (posted_ < operations_ && PostNext()) continue;
      const bool goes_on = connection_.net().RunUntil([&] { return Poll(); }, Seconds(20));
      ASSERT_TRUE(goes_on) << "nothing completes after " << ended_ << " of " << operations_;
    }
    ASSERT_FALSE(testing::Test::HasFailure()) << connection_.history();
    EXPECT_EQ(connection_.b().WordAt(kCounter), added_) << "atomics happen once";
    EXPECT_EQ(received_, sent_) << "every message arrives once";
  }

 private:
  static constexpr uint64_t kCounter = 0;
  static constexpr uint64_t kReceives = 8192;    // at B
  static constexpr uint64_t kSlots = 64 * 1024;  // of the operations, on both sides
  static constexpr uint32_t kSlotBytes = 4096;
  static constexpr uint64_t kSlotCount = (kArena - kSlots) / kSlotBytes;

  struct Posted {
    SendOpcode opcode;
    uint64_t offset;
    uint32_t length;
    std::string expected;  // at A after a read, at B after a write
  };

  bool PostNext() {
    Random& random = connection_.random();
    RcNode& a = connection_.a();
    RcNode& b = connection_.b();
    const uint64_t id = posted_ + 1;
    const uint64_t offset = kSlots + id % kSlotCount * kSlotBytes + random.Below(64);
    const auto length = static_cast<uint32_t>(random.Below(random.Chance(1, 4) ? 4000 : 200));
    Posted posted{SendOpcode::kWrite, offset, length, Noise(length)};
    queue::SendWqe wqe;
    wqe.id = WrId(id);
    wqe.flags.signaled = true;
    std::vector<Sge> sges = {a.Local(offset, length / 2),
                             a.Local(offset + length / 2, length - length / 2)};
    switch (random.Below(4)) {
      case 0:
        std::memcpy(a.At(offset), posted.expected.data(), length);
        wqe.operand = b.Remote(offset);
        break;
      case 1:
        posted.opcode = SendOpcode::kSend;
        if (!PostReceive()) return false;
        std::memcpy(a.At(offset), posted.expected.data(), length);
        sent_ += 1;
        break;
      case 2:
        posted.opcode = SendOpcode::kRead;
        std::memcpy(b.At(offset), posted.expected.data(), length);
        wqe.operand = b.Remote(offset);
        break;
      default:
        posted.opcode = SendOpcode::kFetchAndAdd;
        wqe.operand = queue::Atomic{.remote = b.Remote(kCounter), .compare_or_add = id};
        sges = {a.Local(offset / 8 * 8, 8)};
        break;
    }
    wqe.opcode = posted.opcode;
    if (!connection_.end_a().send_queue.Post({.wqe = wqe, .sges = sges}).has_value()) {
      if (posted.opcode == SendOpcode::kSend) --sent_;
      return false;
    }
    connection_.net().Touch(connection_.end_a());
    if (posted.opcode == SendOpcode::kFetchAndAdd) added_ += id;
    story_.emplace(id, posted);
    ++posted_;
    return true;
  }

  bool PostReceive() {
    const std::array<Sge, 1> sges = {connection_.b().Local(kReceives, 4096)};
    const auto posted =
        connection_.end_b().receive_queue.Post({.wqe = {WrId(++receives_)}, .sges = sges});
    return posted.has_value();
  }

  std::string Noise(uint32_t length) {
    std::string noise(length, '\0');
    for (char& c : noise) c = static_cast<char>(connection_.random().Next32());
    return noise;
  }

  // True if something has completed.
  bool Poll() {
    const uint64_t before = ended_;
    std::array<Completion, 64> completions;
    const size_t count = connection_.end_a().send_cq.Poll(completions).value();
    for (size_t i = 0; i < count; ++i) Check(completions[i]);
    received_ += connection_.end_b().receive_cq.Poll(completions).value();
    return ended_ > before;
  }

  void Check(const Completion& completion) {
    EXPECT_EQ(completion.status, CompletionStatus::kSuccess)
        << NameOf(completion.status) << " of " << completion.id.value();
    EXPECT_EQ(completion.id.value(), ended_ + 1) << "in order, and once";
    ++ended_;
    const Posted& posted = story_.at(completion.id.value());
    const bool at_a = posted.opcode == SendOpcode::kRead;
    if (at_a || posted.opcode == SendOpcode::kWrite) {
      const std::byte* found = (at_a ? connection_.a() : connection_.b()).At(posted.offset);
      EXPECT_EQ(std::memcmp(found, posted.expected.data(), posted.length), 0);
    }
  }

  Connection& connection_;
  const uint64_t operations_;
  uint64_t posted_ = 0, ended_ = 0, added_ = 0, sent_ = 0, received_ = 0, receives_ = 0;
  std::map<uint64_t, Posted> story_;
};

class RcQpFaultsTest : public testing::TestWithParam<uint64_t> {};

TEST_P(RcQpFaultsTest, EveryOperationCompletesOnABadLink) {
  Random random(GetParam());
  const LinkFaults faults{.loss = static_cast<uint32_t>(random.Below(100)),
                          .duplication = static_cast<uint32_t>(random.Below(50)),
                          .jitter = Microseconds(static_cast<int64_t>(random.Below(20))),
                          .eviction = static_cast<uint32_t>(random.Below(100)),
                          .path_mtu = uint32_t{256} << random.Below(5),
                          .depth = static_cast<uint8_t>(1 + random.Below(8))};
  Connection connection(random.Next64(), faults);
  Workload(connection, 300).Run();
}

INSTANTIATE_TEST_SUITE_P(Seeds, RcQpFaultsTest, testing::Range<uint64_t>(1, 101));

TEST(RcQpTest, PageFaultsCauseNoTimeouts) {
  Connection connection(1, {.eviction = 500});
  Workload(connection, 500).Run();
  EXPECT_GT(connection.end_a().counters().page_waits, 0u);
  EXPECT_GT(connection.end_a().counters().rnr_naks, 0u) << "at the peer";
  EXPECT_EQ(connection.net().timeouts(), 0u);
}

// Continuous evictions, and no RNR retries.
TEST(RcQpTest, PageFaultsUseNoRnrRetries) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Connection connection(seed, {.eviction = 500, .rnr_retry = 0});
    Workload(connection, 300).Run();
    EXPECT_EQ(connection.net().timeouts(), 0u);
  }
}

TEST_P(RcQpFaultsTest, PageFaultsUseNoRnrRetriesOnABadLink) {
  Connection connection(GetParam(),
                        {.loss = 50, .duplication = 20, .eviction = 100, .rnr_retry = 0});
  Workload(connection, 100).Run();
}

// A peer that does not know the mark uses its own RNR retries.
TEST(RcQpTest, AForeignPeerSurvivesPageFaultsWithinItsRetries) {
  for (const uint8_t rnr_retry : {uint8_t{0}, uint8_t{1}, uint8_t{6}}) {
    Connection connection(1, {.eviction = 500, .rnr_retry = rnr_retry, .foreign = true});
    Workload(connection, 300).Run();
    EXPECT_EQ(connection.net().timeouts(), 0u);
  }
}

TEST(RcQpTest, ALosslessLinkCausesNoTimeouts) {
  Connection connection(1, {});
  Workload(connection, 500).Run();
  EXPECT_EQ(connection.net().timeouts(), 0u);
}

// B has a request and an acknowledgement to send in the same step: the packets that it sends, in
// order.
std::vector<bool> RequestsOfOneStep(bool peer_is_here) {
  RcNet net;
  RcNode& a = net.AddNode(kPages);
  RcNode& b = net.AddNode(kPages);
  scenario::RcSpec spec;
  spec.config.peer_is_here = peer_is_here;
  const auto [end_a, end_b] = net.Connect(a, b, spec, spec);
  std::vector<bool> sent;
  net.SetLink([&, from = &end_b](const Passing& passing) {
    if (&passing.from == from) sent.push_back(passing.is_request());
    return LinkAction::Pass();
  });
  net.Post(end_b, scenario::ReadOf(1, a.Remote(0)), {b.Local(0, 8)});
  queue::SendWqe fenced = scenario::WriteOf(2, a.Remote(64));
  fenced.flags.fence = true;
  net.Post(end_b, fenced, {b.Local(64, 8)});
  // The data that A reads and the data that A writes arrive at B together.
  net.RunFor(RcNet::kDelay);
  sent.clear();
  net.Post(end_a, scenario::WriteOf(1, b.Remote(128)), {a.Local(128, 8)});
  EXPECT_TRUE(net.RunUntilIdle());
  return sent;
}

TEST(RcQpTest, AnAcknowledgementLeavesBeforeRequestsUnlessItSharesAMessageWithThem) {
  EXPECT_EQ(RequestsOfOneStep(/*peer_is_here=*/false), (std::vector<bool>{false, true}));
  EXPECT_EQ(RequestsOfOneStep(/*peer_is_here=*/true), (std::vector<bool>{true, false}));
}

}  // namespace
}  // namespace verbena::transport
