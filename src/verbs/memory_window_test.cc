#include "verbena/memory_window.h"

#include <gtest/gtest.h>

#include "tests/support/verbs_world.h"

namespace verbena {
namespace {

class MemoryWindowTest : public VerbsPairTest {
 protected:
  // Binds the window to 64 bytes of b_; returns its new key.
  Key BindAgain(Key window, const MemoryRegion& region) {
    const Key key = NextKey(window);
    EXPECT_TRUE(qb_.Post(Bind{.window = window,
                              .r_key = key,
                              .region = region.l_key(),
                              .start = region.start() + 100,
                              .length = 64,
                              .access = Access::kRemoteWrite}));
    EXPECT_EQ(b_.WaitStatus(), CompletionStatus::kSuccess);
    return key;
  }
  std::optional<CompletionStatus> WriteTo(Key key, uint64_t offset = 100) {
    EXPECT_TRUE(qa_.Post(
        Write{.data = a_.region.Local(0, 32), .remote = {b_.region.start() + offset, key}}));
    return a_.WaitStatus();
  }

  MemoryWindow window_ = Good(MemoryWindow::Allocate(b_.domain, WindowType::k2A));
};

TEST_F(MemoryWindowTest, GrantsTheBytesItIsBoundTo) {
  const Key key = BindAgain(window_.first_key(), b_.region);
  EXPECT_EQ(WriteTo(key), CompletionStatus::kSuccess);
  EXPECT_EQ(WriteTo(key, 99), CompletionStatus::kRemoteAccessError);
}

TEST_F(MemoryWindowTest, CanBeReboundRepeatedly) {
  Key key = window_.first_key();
  for (int i = 0; i < 5; ++i) {
    key = BindAgain(key, b_.region);
    EXPECT_EQ(WriteTo(key), CompletionStatus::kSuccess);
    ASSERT_TRUE(qb_.Post(Invalidate{.key = key}));
    ASSERT_EQ(b_.WaitStatus(), CompletionStatus::kSuccess);
  }
  EXPECT_EQ(WriteTo(key), CompletionStatus::kRemoteAccessError);
}

TEST_F(MemoryWindowTest, EndsWithItsHandleWithAnyCurrentKey) {
  Key key = window_.first_key();
  for (int i = 0; i < 3; ++i) {
    key = BindAgain(key, b_.region);
    if (i == 2) break;
    ASSERT_TRUE(qb_.Post(Invalidate{.key = key}));
    ASSERT_EQ(b_.WaitStatus(), CompletionStatus::kSuccess);
  }
  // While the window is bound, the region cannot be destroyed.
  EXPECT_EQ(CodeOf(b_.region.Destroy()), ErrorCode::kInUse);
  EXPECT_EQ(CodeOf(b_.region.Reregister({.access = Access::kLocal})), ErrorCode::kInUse);
  Good(window_.Destroy());
  EXPECT_EQ(window_.first_key(), Key{});
  EXPECT_EQ(WriteTo(key), CompletionStatus::kRemoteAccessError);
  // The end of the window allows it.
  Good(b_.region.Destroy());
}

TEST_F(MemoryWindowTest, EndsWithTheRegionItIsBoundTo) {
  MemoryWindow other = Good(MemoryWindow::Allocate(b_.domain, WindowType::k2B));
  const MemoryRegion second = Good(MemoryRegion::Register(b_.domain, b_.memory, Access::kAll));
  const Key key = BindAgain(window_.first_key(), b_.region);
  const Key other_key = BindAgain(other.first_key(), second);
  b_.region = {};
  ASSERT_TRUE(
      qa_.Post(Write{.data = a_.region.Local(0, 32), .remote = {second.start() + 100, other_key}}));
  EXPECT_EQ(a_.WaitStatus(), CompletionStatus::kSuccess);
  ASSERT_TRUE(
      qa_.Post(Write{.data = a_.region.Local(0, 32), .remote = {second.start() + 100, key}}));
  EXPECT_EQ(a_.WaitStatus(), CompletionStatus::kRemoteAccessError);
  Good(window_.Destroy());
}

TEST_F(MemoryWindowTest, RefusesAnUnknownType) {
  EXPECT_EQ(window_.type(), WindowType::k2A);
  EXPECT_EQ(CodeOf(MemoryWindow::Allocate(b_.domain, static_cast<WindowType>(3))),
            ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(MemoryWindow{}.Destroy()), ErrorCode::kInvalid);
}

TEST_F(MemoryWindowTest, Type1CanBeReboundAndIsUnboundByLengthZero) {
  MemoryWindow window = Good(MemoryWindow::Allocate(b_.domain, WindowType::k1));
  EXPECT_EQ(window.type(), WindowType::k1);
  Key key = window.first_key();
  for (int i = 0; i < 300; ++i) key = BindAgain(key, b_.region);  // more than there are variants
  EXPECT_EQ(WriteTo(key), CompletionStatus::kSuccess);
  const Key unbound = NextKey(key);
  ASSERT_TRUE(qb_.Post(Bind{.window = key, .r_key = unbound}));
  ASSERT_EQ(b_.WaitStatus(), CompletionStatus::kSuccess);
  key = BindAgain(unbound, b_.region);
  EXPECT_EQ(WriteTo(key), CompletionStatus::kSuccess);
  EXPECT_EQ(WriteTo(unbound), CompletionStatus::kRemoteAccessError);
}

TEST_F(MemoryWindowTest, Type1ServesEveryQueuePairOfItsDomain) {
  const MemoryWindow window = Good(MemoryWindow::Allocate(b_.domain, WindowType::k1));
  const Key key = BindAgain(window.first_key(), b_.region);
  QueuePair qa = a_.MakeQp();
  QueuePair qb = b_.MakeQp();
  ConnectPair(a_, qa, b_, qb);
  const Write write{.data = a_.region.Local(0, 32), .remote = {b_.region.start() + 100, key}};
  ASSERT_TRUE(qa.Post(write));
  EXPECT_EQ(a_.WaitStatus(), CompletionStatus::kSuccess);
}

TEST_F(MemoryWindowTest, Type1NeedsANewKeyAndCannotBeInvalidated) {
  const MemoryWindow window = Good(MemoryWindow::Allocate(b_.domain, WindowType::k1));
  const Key key = BindAgain(window.first_key(), b_.region);
  ASSERT_TRUE(qb_.Post(Bind{.window = key, .r_key = key}));
  EXPECT_EQ(b_.WaitStatus(), CompletionStatus::kWindowBindError);
}

TEST_F(MemoryWindowTest, KeepsItsKeyIndex) {
  const auto posted = qb_.Post(Bind{.window = window_.first_key(),
                                    .r_key = Key{window_.first_key().value() ^ 0x100},
                                    .region = b_.region.l_key()});
  EXPECT_EQ(CodeOf(posted), ErrorCode::kInvalid);
}

TEST_F(MemoryWindowTest, CanOutliveTheHandleOfItsDomain) {
  b_.domain = {};
  const Key key = BindAgain(window_.first_key(), b_.region);
  EXPECT_EQ(WriteTo(key), CompletionStatus::kSuccess);
}

}  // namespace
}  // namespace verbena
