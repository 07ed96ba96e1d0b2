#include "sim/oracle/tags.h"

#include <gtest/gtest.h>

namespace verbena::sim {
namespace {

constexpr uint64_t kAll = ~uint64_t{0};

class TagsOracleTest : public testing::Test {
 protected:
  // Adds a receive while the queue is in step, so that every receive of the list is active.
  void Add(uint64_t id, uint64_t tag) {
    oracle_.Added(id, tag, kAll);
    oracle_.OnStep(false, id, false, findings_);
  }
  void Match(uint64_t id, uint64_t tag, bool is_alone = true) {
    oracle_.Matched(id, tag, oracle_.version(), is_alone, findings_);
  }

  Findings findings_;
  TagsOracle oracle_;
};

TEST_F(TagsOracleTest, TheOldestOfATagIsTheNext) {
  Add(1, 7);
  Add(2, 7);
  Add(3, 8);
  Match(3, 8);
  Match(1, 7);
  Match(2, 7);
  oracle_.CheckEnd(0, findings_);
  EXPECT_EQ(findings_.text(), "");
}

TEST_F(TagsOracleTest, AReceiveThatIsPassedOverIsSeen) {
  Add(1, 7);
  Add(2, 7);
  Match(2, 7);
  EXPECT_EQ(findings_.text(), "tags: a message has passed over a receive of its tag");
}

TEST_F(TagsOracleTest, AnUnexpectedMessageForWhichThereWasAReceiveIsSeen) {
  Add(1, 7);
  oracle_.Unexpected(7, oracle_.version(), true, findings_);
  EXPECT_EQ(findings_.text(), "tags: a message has passed over a receive of its tag");
}

TEST_F(TagsOracleTest, AMessageMayHaveBegunBeforeTheReceiveWasAdded) {
  const auto before = oracle_.version();
  Add(1, 7);
  oracle_.Unexpected(7, before, true, findings_);
  EXPECT_EQ(findings_.text(), "");
}

TEST_F(TagsOracleTest, APassedOverReceiveMustGoToAMessageInFlight) {
  Add(1, 7);
  Add(2, 7);
  Match(2, 7, /*is_alone=*/false);
  EXPECT_EQ(findings_.text(), "");
  oracle_.CheckEnd(1, findings_);
  EXPECT_EQ(findings_.text(), "tags: a receive was passed over");
}

TEST_F(TagsOracleTest, HeldReceivesAreNotTaken) {
  oracle_.Unexpected(7, 0, true, findings_);
  oracle_.Added(1, 7, kAll);
  oracle_.OnStep(true, 1, false, findings_);
  EXPECT_EQ(findings_.text(), "");
  Match(1, 7);
  EXPECT_EQ(findings_.text(), "tags: a message took a receive that is held");
}

TEST_F(TagsOracleTest, ReceivesAreActiveWhenInStepAgain) {
  oracle_.Unexpected(7, 0, true, findings_);
  oracle_.Added(1, 7, kAll);
  oracle_.OnStep(true, 1, false, findings_);
  oracle_.Synchronized();
  oracle_.OnStep(false, std::nullopt, false, findings_);
  Match(1, 7);
  EXPECT_EQ(findings_.text(), "");
}

TEST_F(TagsOracleTest, AWrongCountIsSeen) {
  oracle_.Unexpected(7, 0, true, findings_);
  oracle_.OnStep(false, std::nullopt, true, findings_);
  EXPECT_EQ(findings_.text(), "tags: the count of unexpected messages is wrong");
}

TEST_F(TagsOracleTest, OnlyListedReceivesMatchAndAreRemoved) {
  Add(1, 7);
  oracle_.Removed(1, true, findings_);
  EXPECT_EQ(findings_.text(), "");
  oracle_.Removed(1, false, findings_);
  EXPECT_EQ(findings_.text(), "") << "a message has it";
  oracle_.Removed(1, true, findings_);
  EXPECT_EQ(findings_.text(), "tags: a receive that was taken was removed");
}

}  // namespace
}  // namespace verbena::sim
