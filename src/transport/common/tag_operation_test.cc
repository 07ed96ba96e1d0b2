#include "transport/common/tag_operation.h"

#include <array>
#include <optional>

#include <gtest/gtest.h>

#include "memory/memory_core.h"

namespace verbena::transport {
namespace {

using Kind = TagOperation::Kind;

class TagOperationTest : public ::testing::Test {
 protected:
  Result<TagHandle, queue::TagMatcher::AddError> Do(const TagOperation& operation) {
    Step step{.now = {}, .memory = core_, .outbox = outbox_};
    return Execute(operation, tags_, cq_, step);
  }
  static TagOperation Add(uint64_t id, bool signaled = true) {
    return {.id = WrId(id), .signaled = signaled, .tag = 1, .mask = 1};
  }
  std::optional<Completion> Next() {
    std::array<Completion, 1> out;
    if (cq_.Poll(out).value_or(0) == 0) return std::nullopt;
    return out[0];
  }

  memory::MemoryCore core_;
  Outbox outbox_{4};
  queue::TagMatcher tags_{2, 1};
  queue::CompletionQueue cq_{8};
};

TEST_F(TagOperationTest, CompletesIfItIsSignaled) {
  EXPECT_TRUE(Do(Add(1)).has_value());
  const auto done = Next();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->id, WrId(1));
  EXPECT_EQ(done->opcode, CompletionOpcode::kTagAdd);
  EXPECT_EQ(done->status, CompletionStatus::kSuccess);
  EXPECT_FALSE(done->tag_wants_step || done->tag_matched || done->tag_data_valid);
  EXPECT_TRUE(Do(Add(2, false)).has_value());
  EXPECT_EQ(Next(), std::nullopt);
}

TEST_F(TagOperationTest, RemovesOnce) {
  const auto handle = Do(Add(1, false));
  ASSERT_TRUE(handle.has_value());
  const TagOperation remove{.kind = Kind::kRemove, .id = WrId(2), .handle = *handle};
  EXPECT_TRUE(Do(remove).has_value());
  EXPECT_EQ(Next(), std::nullopt);
  EXPECT_TRUE(Do(remove).has_value());
  const auto done = Next();  // although it is unsignaled
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->opcode, CompletionOpcode::kTagRemove);
  EXPECT_EQ(done->status, CompletionStatus::kTagMatchingError);
}

TEST_F(TagOperationTest, ReportsAWrongCountOfUnexpectedMessages) {
  tags_.CountUnexpected();
  EXPECT_TRUE(Do(Add(1)).has_value());
  EXPECT_TRUE(Next()->tag_wants_step);
  EXPECT_TRUE(
      Do({.kind = Kind::kSynchronize, .id = WrId(2), .signaled = true, .seen = 1}).has_value());
  const auto done = Next();
  EXPECT_EQ(done->opcode, CompletionOpcode::kTagSynchronize);
  EXPECT_FALSE(done->tag_wants_step);
  EXPECT_TRUE(tags_.Match(1).has_value());
}

TEST_F(TagOperationTest, AReceiveAddedWithTheRightCountMatchesAtOnce) {
  tags_.CountUnexpected();
  TagOperation add = Add(1);
  add.seen = 1;
  EXPECT_TRUE(Do(add).has_value());
  EXPECT_FALSE(Next()->tag_wants_step);
  EXPECT_TRUE(tags_.Match(1).has_value());
}

TEST_F(TagOperationTest, ARefusedOperationHasNoCompletion) {
  EXPECT_TRUE(Do(Add(1, false)).has_value());
  EXPECT_TRUE(Do(Add(2, false)).has_value());
  EXPECT_EQ(Do(Add(3)).error(), queue::TagMatcher::AddError::kFull);
  EXPECT_EQ(Next(), std::nullopt);
}

}  // namespace
}  // namespace verbena::transport
