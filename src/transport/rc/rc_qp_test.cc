#include "transport/rc/rc_qp.h"

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "memory/copier.h"
#include "memory/signal_guard.h"

namespace verbena::transport {
namespace {

using memory::Rights;
using queue::CompletionStatus;
using queue::SendOpcode;

constexpr uint64_t kArena = 256 * 1024;
constexpr uint64_t kPage = 4096;

// How bad a link and its memory are. All chances are out of 1000.
struct Weather {
  uint32_t loss = 0;
  uint32_t duplication = 0;
  Duration jitter = Duration();
  uint32_t eviction = 0;  // per turn, a page of either side
  uint32_t path_mtu = 1024;
  uint8_t depth = 4;  // reads and atomics under way
};

// One end of a connection: tables, memory, queues, queue pair.
class Node {
 public:
  Node(uint32_t number, const Weather& weather)
      : arena_(static_cast<std::byte*>(std::aligned_alloc(kPage, kArena)), &std::free),
        send_queue_({.capacity = 32, .sges_max = 4, .inline_max = 32, .pages_max = 4}),
        receive_queue_({.capacity = 64, .sges_max = 2}),
        cq_(1024),
        outbox_(64) {
    memory::SignalGuard::Install();
    std::memset(arena_.get(), static_cast<int>(number), kArena);
    const auto pd = *core_.domains.Allocate(*core_.consumers.Open({}));
    const memory::RegionSpec spec{
        .pd = pd,
        .start = memory::KeyAddress(address()),
        .length = kArena,
        .rights = Rights::kLocalRead | Rights::kLocalWrite | Rights::kRemote};
    keys_ =
        *core_.regions.Register(spec, memory::LinearBacking{memory::PhysicalAddress(address())});
    EXPECT_TRUE(core_.regions.MapPages(keys_.local, 0, kArena / kPage, {}, true).has_value());
    RcConfig config;
    config.local_qp = wire::QpNumber(number);
    config.remote_qp = wire::QpNumber(3 - number);
    config.path_mtu = weather.path_mtu;
    config.who = {pd, memory::QpNumber(number)};
    config.ack_timeout = Milliseconds(4);
    config.min_rnr_timer = wire::RnrTimerAtLeast(Microseconds(100));
    config.max_rd_atomic = config.max_dest_rd_atomic = weather.depth;
    config.remote_rights = Rights::kRemote;
    qp_ = std::make_unique<RcQp>(config, send_queue_, ReceiveSource(receive_queue_), cq_, cq_);
  }

  uint64_t address() const { return reinterpret_cast<uintptr_t>(arena_.get()); }
  std::byte* bytes() { return arena_.get(); }
  queue::Sge Bytes(uint64_t offset, uint32_t length) const {
    return {address() + offset, length, queue::KeyValue(keys_.local.value())};
  }
  queue::Remote Remote(uint64_t offset) const {
    return {address() + offset, queue::KeyValue(keys_.remote.value())};
  }

  memory::MemoryCore core_;
  std::unique_ptr<std::byte, decltype(&std::free)> arena_;
  memory::RegionKeys keys_;
  queue::SendQueue send_queue_;
  queue::ReceiveQueue receive_queue_;
  queue::CompletionQueue cq_;
  Outbox outbox_;
  std::unique_ptr<RcQp> qp_;
};

// Two nodes and the link between them, in virtual time.
class Connection {
 public:
  Connection(uint64_t seed, const Weather& weather)
      : random_(seed), weather_(weather), a_(1, weather), b_(2, weather) {
    const wire::Psn psn_a(random_.Next32()), psn_b(random_.Next32());
    a_.qp_->BecomeReadyToReceive(psn_b);
    b_.qp_->BecomeReadyToReceive(psn_a);
    a_.qp_->BecomeReadyToSend(psn_a);
    b_.qp_->BecomeReadyToSend(psn_b);
  }

  Node& a() { return a_; }
  Node& b() { return b_; }
  Random& random() { return random_; }
  uint64_t timeouts() const {
    return a_.qp_->requester_counters().timeouts + b_.qp_->requester_counters().timeouts;
  }

  // Runs both nodes until nothing is due before `until`, or `done`.
  template <class Done>
  bool RunUntil(Duration limit, Done done) {
    const Time end = now_ + limit;
    while (now_ < end) {
      Step(a_, b_);
      Step(b_, a_);
      if (done()) return true;
      Time next = std::min({a_.qp_->next_time(), b_.qp_->next_time(), end});
      if (!events_.empty()) next = std::min(next, events_.begin()->first);
      now_ = std::max(next, now_ + Nanoseconds(100));
      Deliver();
    }
    return false;
  }

  // The last packets, for the reader of a failure.
  std::string history() const {
    std::string text;
    for (const std::string& line : history_) text += line + "\n";
    return text;
  }

 private:
  struct Event {
    Node* to = nullptr;
    std::vector<std::byte> packet;       // arrives, or...
    std::optional<PageRequest> request;  // ...is served
  };

  void Step(Node& node, Node& peer) {
    if (random_.Chance(weather_.eviction, 1000)) Evict(random_.Chance(1, 2) ? node : peer);
    Turn turn{now_, node.core_, node.outbox_};
    if (node.qp_->next_time() <= now_) node.qp_->OnTime(turn);
    const QpState before = node.qp_->state();
    node.qp_->Run(turn);
    if (node.qp_->state() != before) {
      const auto& failure = node.qp_->responder_failure();
      Note(std::string(&node == &a_ ? "A" : "B") +
           " has failed: " + (failure.has_value() ? NameOf(failure->cause) : "as requester"));
    }
    EXPECT_TRUE(node.qp_->IsConsistent());
    Send(node, peer);
  }

  void Evict(Node& node) {
    const uint64_t page = node.address() + random_.Below(kArena / kPage) * kPage;
    node.core_.InvalidateMachine(memory::MachineAddress(page),
                                 memory::MachineAddress(page + kPage - 1));
  }

  // Puts what the outbox holds on the link.
  void Send(Node& node, Node& peer) {
    for (const OutPacket& packet : node.outbox_.packets()) {
      std::vector<std::byte> bytes(packet.header_size + packet.payload_size +
                                   wire::PadFor(packet.payload_size) + wire::kIcrcSize);
      std::memcpy(bytes.data(), packet.header.data(), packet.header_size);
      const auto payload = std::span(bytes).subspan(packet.header_size, packet.payload_size);
      if (!packet.inlined.empty()) {
        std::memcpy(payload.data(), packet.inlined.data(), payload.size());
      } else if (!payload.empty()) {
        EXPECT_FALSE(memory::CopyOut(payload, packet.payload).fault.has_value());
      }
      const int copies = random_.Chance(weather_.duplication, 1000) ? 2 : 1;
      for (int i = 0; i < copies; ++i) {
        const bool is_lost = random_.Chance(weather_.loss, 1000);
        Note(ToString(now_.since_origin()) + (&node == &a_ ? " A " : " B ") +
             wire::ToString(*wire::Packet::Parse(bytes)) + (is_lost ? " LOST" : ""));
        if (is_lost) continue;
        const auto jitter = static_cast<uint64_t>(weather_.jitter.nanoseconds());
        const auto delay =
            Microseconds(5) + Nanoseconds(static_cast<int64_t>(random_.Below(jitter + 1)));
        events_.emplace(now_ + delay, Event{&peer, bytes, {}});
      }
    }
    for (const PageRequest& request : node.outbox_.page_requests()) {
      Note(ToString(now_.since_origin()) + (&node == &a_ ? " A " : " B ") + "asks for pages");
      events_.emplace(now_ + Microseconds(static_cast<int64_t>(1 + random_.Below(300))),
                      Event{&node, {}, request});
    }
    node.outbox_.Clear();
  }

  void Note(const std::string& line) {
    if (history_.size() == 60) history_.erase(history_.begin());
    history_.push_back(line);
  }

  void Deliver() {
    while (!events_.empty() && events_.begin()->first <= now_) {
      const Event event = std::move(events_.begin()->second);
      events_.erase(events_.begin());
      Turn turn{now_, event.to->core_, event.to->outbox_};
      if (event.request.has_value()) {
        const memory::Fault& fault = event.request->fault;
        EXPECT_TRUE(event.to->core_.regions
                        .MapPages(fault.region, fault.first_page, fault.page_count, {}, true)
                        .has_value());
        Note(ToString(now_.since_origin()) + (event.to == &a_ ? " A " : " B ") + "has its pages");
        event.to->qp_->OnPagesReady(event.request->ticket, true, turn);
      } else {
        const auto packet = wire::Packet::Parse(event.packet);
        ASSERT_TRUE(packet.has_value());
        event.to->qp_->OnPacket(*packet, turn);
      }
    }
  }

  Random random_;
  const Weather weather_;
  Node a_, b_;
  std::multimap<Time, Event> events_;
  Time now_;
  std::vector<std::string> history_;
};

// Writes, sends, reads and fetch-and-adds from A to B, each on bytes of its own, so that the end of
// the story is known whatever happens on the way.
class Story {
 public:
  Story(Connection& connection, uint64_t operations)
      : connection_(connection), operations_(operations) {
    std::memset(connection.b().bytes() + kCounter, 0, sizeof(uint64_t));
  }

  void Run() {
    while (ended_ < operations_ && !testing::Test::HasFailure()) {
      while (posted_ < operations_ && PostNext()) continue;
      const bool goes_on = connection_.RunUntil(Seconds(20), [&] { return Poll(); });
      ASSERT_TRUE(goes_on) << "nothing completes after " << ended_ << " of " << operations_;
    }
    ASSERT_FALSE(testing::Test::HasFailure()) << connection_.history();
    uint64_t counter = 0;
    std::memcpy(&counter, connection_.b().bytes() + kCounter, sizeof counter);
    EXPECT_EQ(counter, added_) << "atomics happen once";
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
    Node& a = connection_.a();
    Node& b = connection_.b();
    const uint64_t id = posted_ + 1;
    const uint64_t offset = kSlots + id % kSlotCount * kSlotBytes + random.Below(64);
    const auto length = static_cast<uint32_t>(random.Below(random.Chance(1, 4) ? 4000 : 200));
    Posted posted{SendOpcode::kWrite, offset, length, Noise(length)};
    queue::SendWqe wqe;
    wqe.id = queue::WrId(id);
    wqe.flags.signaled = true;
    std::vector<queue::Sge> sges = {a.Bytes(offset, length / 2),
                                    a.Bytes(offset + length / 2, length - length / 2)};
    switch (random.Below(4)) {
      case 0:
        std::memcpy(a.bytes() + offset, posted.expected.data(), length);
        wqe.operand = b.Remote(offset);
        break;
      case 1:
        posted.opcode = SendOpcode::kSend;
        if (!PostReceive()) return false;
        std::memcpy(a.bytes() + offset, posted.expected.data(), length);
        sent_ += 1;
        break;
      case 2:
        posted.opcode = SendOpcode::kRead;
        std::memcpy(b.bytes() + offset, posted.expected.data(), length);
        wqe.operand = b.Remote(offset);
        break;
      default:
        posted.opcode = SendOpcode::kFetchAndAdd;
        wqe.operand = queue::Atomic{.remote = b.Remote(kCounter), .compare_or_add = id};
        sges = {a.Bytes(offset / 8 * 8, 8)};
        break;
    }
    wqe.opcode = posted.opcode;
    if (!a.send_queue_.Post({.wqe = wqe, .sges = sges}).has_value()) {
      if (posted.opcode == SendOpcode::kSend) --sent_;
      return false;
    }
    if (posted.opcode == SendOpcode::kFetchAndAdd) added_ += id;
    story_.emplace(id, posted);
    ++posted_;
    return true;
  }

  bool PostReceive() {
    Node& b = connection_.b();
    const std::array<queue::Sge, 1> sges = {b.Bytes(kReceives, 4096)};
    const auto posted = b.receive_queue_.Post({.wqe = {queue::WrId(++receives_)}, .sges = sges});
    return posted.has_value();
  }

  std::string Noise(uint32_t length) {
    std::string noise(length, '\0');
    for (char& c : noise) c = static_cast<char>(connection_.random().Next32());
    return noise;
  }

  // True when something has completed.
  bool Poll() {
    const uint64_t before = ended_;
    std::array<queue::Completion, 64> completions;
    const size_t count = connection_.a().cq_.Poll(completions).value();
    for (size_t i = 0; i < count; ++i) Check(completions[i]);
    received_ += connection_.b().cq_.Poll(completions).value();
    return ended_ > before;
  }

  void Check(const queue::Completion& completion) {
    EXPECT_EQ(completion.status, CompletionStatus::kSuccess)
        << queue::NameOf(completion.status) << " of " << completion.id.value();
    EXPECT_EQ(completion.id.value(), ended_ + 1) << "in order, and once";
    ++ended_;
    const Posted& posted = story_.at(completion.id.value());
    const bool at_a = posted.opcode == SendOpcode::kRead;
    if (at_a || posted.opcode == SendOpcode::kWrite) {
      const std::byte* found = (at_a ? connection_.a() : connection_.b()).bytes() + posted.offset;
      EXPECT_EQ(std::memcmp(found, posted.expected.data(), posted.length), 0);
    }
  }

  Connection& connection_;
  const uint64_t operations_;
  uint64_t posted_ = 0, ended_ = 0, added_ = 0, sent_ = 0, received_ = 0, receives_ = 0;
  std::map<uint64_t, Posted> story_;
};

class RcQpWeatherTest : public testing::TestWithParam<uint64_t> {};

TEST_P(RcQpWeatherTest, NothingIsLostOnABadLink) {
  Random random(GetParam());
  const Weather weather{.loss = static_cast<uint32_t>(random.Below(100)),
                        .duplication = static_cast<uint32_t>(random.Below(50)),
                        .jitter = Microseconds(static_cast<int64_t>(random.Below(20))),
                        .eviction = static_cast<uint32_t>(random.Below(100)),
                        .path_mtu = uint32_t{256} << random.Below(5),
                        .depth = static_cast<uint8_t>(1 + random.Below(8))};
  Connection connection(random.Next64(), weather);
  Story(connection, 300).Run();
}

INSTANTIATE_TEST_SUITE_P(Seeds, RcQpWeatherTest, testing::Range<uint64_t>(1, 101));

TEST(RcQpTest, FaultsAreNotRepairedByTimeouts) {
  Connection connection(1, {.eviction = 500});
  Story(connection, 500).Run();
  EXPECT_EQ(connection.timeouts(), 0u);
}

TEST(RcQpTest, AGoodLinkNeedsNoTimer) {
  Connection connection(1, {});
  Story(connection, 500).Run();
  EXPECT_EQ(connection.timeouts(), 0u);
}

}  // namespace
}  // namespace verbena::transport
