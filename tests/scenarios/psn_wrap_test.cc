// PSNs have 24 bits and wrap around. Packets across the wrap, and losses there, are handled as
// elsewhere.

#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/check.h"
#include "tests/support/pair_fixture.h"
#include "tests/support/responder_fixture.h"
#include "tests/support/wire_packets.h"

namespace verbena::scenario {
namespace {

constexpr uint32_t kMtu = 1024;
constexpr uint32_t kLong = 3 * kMtu + 5;  // four packets

// The number of packets of the first message before the wrap, and the number of the packet in
// either direction that is lost (0 for none).
using Case = std::tuple<uint32_t, uint32_t>;

class PsnWrapTest : public PairTest, public testing::WithParamInterface<Case> {
 protected:
  PsnWrapTest() {
    RcSpec spec;
    spec.config.path_mtu = kMtu;
    spec.first_psn = Psn(wire::kMax24 + 1 - std::get<0>(GetParam()));
    Connect(spec, spec);
    net_.SetLink([this](const Passing&) {
      return ++packets_ == std::get<1>(GetParam()) ? LinkAction::Drop() : LinkAction::Pass();
    });
  }

  uint32_t packets_ = 0;
};

TEST_P(PsnWrapTest, SendsArriveOnce) {
  for (uint64_t id = 1; id <= 3; ++id) {
    net_.PostReceive(b(), id, {node_b_.Local((id + 8) * kPage, kPage)});
    net_.Post(a(), SendOf(id), {node_a_.Local(id * kPage, kLong)});
  }
  ASSERT_TRUE(net_.RunUntilIdle());
  ExpectSuccess(a().Sent(), {1, 2, 3});
  ExpectSuccess(b().Received(), {1, 2, 3});
  for (uint64_t id = 1; id <= 3; ++id) {
    EXPECT_EQ(node_b_.Read((id + 8) * kPage, kLong), node_a_.Read(id * kPage, kLong));
  }
}

TEST_P(PsnWrapTest, WritesArrive) {
  for (uint64_t id = 1; id <= 3; ++id) {
    net_.Post(a(), WriteOf(id, node_b_.Remote(id * kPage)), {node_a_.Local(id * kPage, kLong)});
  }
  ASSERT_TRUE(net_.RunUntilIdle());
  ExpectSuccess(a().Sent(), {1, 2, 3});
  for (uint64_t id = 1; id <= 3; ++id) {
    EXPECT_EQ(node_b_.Read(id * kPage, kLong), node_a_.Read(id * kPage, kLong));
  }
}

TEST_P(PsnWrapTest, ReadsAreAnswered) {
  for (uint64_t id = 1; id <= 3; ++id) {
    net_.Post(a(), ReadOf(id, node_b_.Remote(id * kPage)), {node_a_.Local(id * kPage, kLong)});
  }
  ASSERT_TRUE(net_.RunUntilIdle());
  ExpectSuccess(a().Sent(), {1, 2, 3});
  for (uint64_t id = 1; id <= 3; ++id) {
    EXPECT_EQ(node_a_.Read(id * kPage, kLong), node_b_.Read(id * kPage, kLong));
  }
}

TEST_P(PsnWrapTest, AtomicsAreExecutedOnce) {
  node_b_.SetWord(0, 100);
  for (uint64_t id = 1; id <= 8; ++id) {
    net_.Post(a(), FetchAddOf(id, node_b_.Remote(0), 1), {node_a_.Local(id * 8, 8)});
  }
  ASSERT_TRUE(net_.RunUntilIdle());
  std::vector<uint64_t> ids(8);
  std::iota(ids.begin(), ids.end(), 1);
  ExpectSuccess(a().Sent(), ids);
  for (uint64_t id = 1; id <= 8; ++id) EXPECT_EQ(node_a_.WordAt(id * 8), 99 + id);
  EXPECT_EQ(node_b_.WordAt(0), 108u);
}

INSTANTIATE_TEST_SUITE_P(Places, PsnWrapTest,
                         testing::Combine(testing::Range(0u, 6u), testing::Range(0u, 12u)),
                         [](const auto& row) {
                           return std::to_string(std::get<0>(row.param)) + "BeforeLost" +
                                  std::to_string(std::get<1>(row.param));
                         });

// The MSN of a responder cannot be set, so this test delivers 2^24 messages, each an empty write,
// to make it wrap. Sanitizer builds deliver a part of them only, which takes less than half a
// minute.
constexpr uint32_t kMessages = VERBENA_DCHECK ? wire::kMax24 / 16 : wire::kMax24;

class MsnWrapTest : public transport::ResponderFixture {};

TEST_F(MsnWrapTest, TheMsnWrapsAroundAfterAllMessages) {
  wire::Bth bth;
  bth.opcode = wire::FindOpcode(wire::Service::kRc, Operation::kWrite)->opcode;
  bth.dest_qp = config_.local_qp;
  std::vector<std::byte> packet = wire::BuildPacket(bth, {}, wire::Reth{});
  transport::Step step = MakeStep();
  const auto deliver = [&] {
    bth.psn = psn_++;
    bth.Serialize(packet);
    responder_->OnRequest(*wire::Packet::Parse(packet), step);
  };
  for (uint32_t i = 0; i < kMessages; ++i) deliver();
  EXPECT_EQ(OneAnswer().aeth->msn, wire::Msn(kMessages));
  deliver();
  EXPECT_EQ(OneAnswer().aeth->msn, wire::Msn((kMessages + 1) & wire::kMax24));
  deliver();
  const transport::Answer last = OneAnswer();
  EXPECT_EQ(last.aeth->msn, wire::Msn((kMessages + 2) & wire::kMax24));
  EXPECT_TRUE(last.IsAck(PsnAt(kMessages + 1)));
}

}  // namespace
}  // namespace verbena::scenario
