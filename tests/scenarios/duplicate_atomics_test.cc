// The network duplicates packets. An atomic is executed once, and every replayed response equals
// the first one.

#include <cstdint>
#include <map>
#include <vector>

#include "tests/support/pair_fixture.h"
#include "wire/roce/atomic_ack_eth.h"

namespace verbena::scenario {
namespace {

// The parameter is the time between the two copies of a packet, in nanoseconds.
class DuplicateAtomicsTest : public PairTest, public testing::WithParamInterface<int64_t> {
 protected:
  static constexpr uint64_t kCount = 24;

  DuplicateAtomicsTest() {
    Connect();
    net_.SetLink([this](const Passing& passing) {
      if (const auto eth = passing.packet.Get<wire::AtomicAckEth>()) {
        answers_[passing.packet.bth().psn.value()].push_back(eth->original);
      }
      return LinkAction::Twice(Nanoseconds(GetParam()));
    });
  }

  // The original value that each atomic returned, in order. Expects that all responses to an atomic
  // are equal.
  std::vector<uint64_t> Answers() const {
    std::vector<uint64_t> firsts;
    for (const auto& [psn, values] : answers_) {
      for (const uint64_t value : values) EXPECT_EQ(value, values[0]) << "PSN " << psn;
      firsts.push_back(values[0]);
    }
    return firsts;
  }
  bool SomethingWasAnsweredTwice() const {
    for (const auto& [psn, values] : answers_) {
      if (values.size() > 1) return true;
    }
    return false;
  }

  std::map<uint32_t, std::vector<uint64_t>> answers_;  // by PSN
};

TEST_P(DuplicateAtomicsTest, AFetchAndAddIsExecutedOnce) {
  node_b_.SetWord(0, 0);
  for (uint64_t id = 1; id <= kCount; ++id) {
    net_.Post(a(), FetchAddOf(id, node_b_.Remote(0), id), {node_a_.Local(id * 8, 8)});
  }
  ASSERT_TRUE(net_.RunUntilIdle());
  EXPECT_EQ(a().Sent().size(), kCount);
  EXPECT_EQ(node_b_.WordAt(0), kCount * (kCount + 1) / 2);
  std::vector<uint64_t> partial_sums;
  for (uint64_t id = 1; id <= kCount; ++id) {
    partial_sums.push_back(id * (id - 1) / 2);
    EXPECT_EQ(node_a_.WordAt(id * 8), partial_sums.back());
  }
  EXPECT_EQ(Answers(), partial_sums);
  EXPECT_TRUE(SomethingWasAnsweredTwice());
}

TEST_P(DuplicateAtomicsTest, ACompareAndSwapIsExecutedOnce) {
  // Each one finds the value of the one before; a second execution would find its own value.
  node_b_.SetWord(0, 0);
  for (uint64_t id = 1; id <= kCount; ++id) {
    net_.Post(a(), CompareSwapOf(id, node_b_.Remote(0), id - 1, id), {node_a_.Local(id * 8, 8)});
  }
  ASSERT_TRUE(net_.RunUntilIdle());
  EXPECT_EQ(a().Sent().size(), kCount);
  EXPECT_EQ(node_b_.WordAt(0), kCount);
  for (uint64_t id = 1; id <= kCount; ++id) EXPECT_EQ(node_a_.WordAt(id * 8), id - 1);
  EXPECT_EQ(Answers().size(), kCount);
  EXPECT_TRUE(SomethingWasAnsweredTwice());
}

TEST_P(DuplicateAtomicsTest, ADuplicateAtomicWriteDoesNotOverwriteLaterOnes) {
  node_b_.SetWord(0, 0);
  node_a_.SetWord(0, 77);
  net_.Post(a(), RequestOf(1, queue::SendOpcode::kAtomicWrite, node_b_.Remote(0)),
            {node_a_.Local(0, 8)});
  net_.Post(a(), FetchAddOf(2, node_b_.Remote(0), 1), {node_a_.Local(8, 8)});
  ASSERT_TRUE(net_.RunUntilIdle());
  ExpectSuccess(a().Sent(), {1, 2});
  EXPECT_EQ(node_a_.WordAt(8), 77u);
  EXPECT_EQ(node_b_.WordAt(0), 78u);
}

// At once; while the next atomic is in flight; after the response; long after.
INSTANTIATE_TEST_SUITE_P(Apart, DuplicateAtomicsTest,
                         testing::Values(1, 4'000, 11'000, 40'000, 2'000'000));

// The response that the requester waits for is lost five times.
TEST_F(PairTest, AnAtomicWhoseResponsesAreLostIsExecutedOnce) {
  Connect();
  uint32_t lost = 0;
  net_.SetLink([&](const Passing& passing) {
    if (passing.is_request() || ++lost > 5) return LinkAction::Pass();
    return LinkAction::Drop();
  });
  node_b_.SetWord(0, 10);
  for (uint64_t id = 1; id <= 4; ++id) {
    net_.Post(a(), FetchAddOf(id, node_b_.Remote(0), 1), {node_a_.Local(id * 8, 8)});
  }
  ASSERT_TRUE(net_.RunUntilIdle());
  ExpectSuccess(a().Sent(), {1, 2, 3, 4});
  EXPECT_EQ(node_b_.WordAt(0), 14u);
  for (uint64_t id = 1; id <= 4; ++id) EXPECT_EQ(node_a_.WordAt(id * 8), 9 + id);
}

}  // namespace
}  // namespace verbena::scenario
