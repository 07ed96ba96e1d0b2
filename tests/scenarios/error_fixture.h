#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/pair_fixture.h"
#include "transport/common/verdict.h"

namespace verbena::scenario {

// A connection on which a test provokes an error. A row of the test's table changes the options,
// connects and posts.
class ErrorTest : public PairTest {
 public:
  using PairTest::a;
  using PairTest::b;
  using PairTest::BindWindow;
  using PairTest::kPage;
  using PairTest::net_;
  using PairTest::node_a_;
  using PairTest::node_b_;

  static constexpr uint32_t kLength = 100;

  ErrorTest() {
    net_.SetLink([this](const Passing& passing) {
      const bool from_a = &passing.from == a_;
      const bool is_first = passing.packet.bth().psn == spec_a_.first_psn;
      requests_ += from_a ? 1 : 0;
      first_requests_ += from_a && passing.is_request() && is_first ? 1 : 0;
      if (const auto syndrome = SyndromeOf(passing); syndrome && !syndrome->is_ack()) {
        refusals_.push_back(*syndrome);
      }
      return mangle_ ? mangle_(passing) : LinkAction::Pass();
    });
  }

  void Begin() { Connect(spec_a_, spec_b_); }
  void Begin(const std::function<void(RcSpec& a, RcSpec& b)>& change) {
    change(spec_a_, spec_b_);
    Begin();
  }

  // Posts a request of A with its first page as the buffer.
  void Post(const queue::SendWqe& wqe, uint32_t length = kLength) {
    net_.Post(a(), wqe, {node_a_.Local(0, length)});
  }
  void Send(uint32_t length = kLength) { Post(SendOf(1), length); }
  void Write(const RemoteAddress& to, uint32_t length = kLength) { Post(WriteOf(1, to), length); }
  void Write(Key key) { Write(RcNode::Remote(0, key)); }
  void Read(const RemoteAddress& from) { Post(ReadOf(1, from)); }
  // Posts a receive request of B.
  void Receive(uint32_t length = kLength) {
    net_.PostReceive(b(), 11, {node_b_.Local(2 * kPage, length)});
  }
  void Invalidate(Key key) {
    Receive();
    Post(SendInvalidateOf(1, key));
  }

  // A region of B over all of its memory, with other rights or in another protection domain.
  memory::RegionKeys RegionOf(memory::PdId pd, Access rights) {
    const auto keys = node_b_.Register(
        {.pd = pd, .start = KeyAddress(RcNode::kBase), .length = kPage, .rights = rights}, 0);
    EXPECT_TRUE(keys.has_value());
    EXPECT_TRUE(node_b_.core.regions.MapPages(keys->local, 0, 1, {}, true).has_value());
    return *keys;
  }
  // The same key index with another variant.
  static Key OtherVariant(Key key) {
    return {key.index(), KeyVariant(static_cast<uint8_t>(key.variant().value() + 1))};
  }
  // A key whose slot has never been used.
  static Key NoKey(const RcNode& node) {
    return {KeyIndex(node.keys.local.index().value() ^ 1), KeyVariant(1)};
  }

  // A queue pair in error flushes posted requests.
  void ExpectFlushes(RcEnd& end) {
    static_cast<void>(end.Sent());
    static_cast<void>(end.Received());
    net_.Post(end, SendOf(98), {});
    net_.PostReceive(end, 99, {});
    net_.RunFor(Microseconds(1));
    EXPECT_EQ(StatusesOf(end.Sent()), std::vector{CompletionStatus::kFlushed});
    EXPECT_EQ(StatusesOf(end.Received()), std::vector{CompletionStatus::kFlushed});
  }

  RcSpec spec_a_;
  RcSpec spec_b_;
  std::function<LinkAction(const Passing&)> mangle_;
  uint32_t requests_ = 0;                 // request packets that A has sent
  uint32_t first_requests_ = 0;           // of these, first packets of its first message
  std::vector<wire::Syndrome> refusals_;  // NAKs of both sides
};

}  // namespace verbena::scenario
