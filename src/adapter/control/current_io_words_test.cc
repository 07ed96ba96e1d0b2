#include "adapter/control/current_io_words.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace verbena::adapter {
namespace {
using memory::CurrentIo;

class CurrentIoWordsThreads : public testing::Test {
 protected:
  CurrentIo io(uint32_t index) { return CurrentIo(words_.word(index)); }
  // Counts how often the host hears of interest.
  std::function<void()> CountInterest() {
    return [this] { ++interests_; };
  }

  CurrentIoWords words_;
  std::atomic<int> interests_ = 0;
};

TEST_F(CurrentIoWordsThreads, AreMadeWhenTheFirstIsTaken) {
  EXPECT_EQ(words_.fd(), -1);
  ASSERT_TRUE(words_.Take());
  EXPECT_GE(words_.fd(), 0);
}

TEST_F(CurrentIoWordsThreads, AreGivenAgainAsZero) {
  const uint32_t first = *words_.Take();
  const uint32_t second = *words_.Take();
  EXPECT_NE(first, second);
  EXPECT_EQ(io(first).Begin(5), CurrentIo::BeginResult::kStarted);
  words_.Give(first);
  EXPECT_EQ(*words_.Take(), first);
  EXPECT_EQ(words_.word(first), 0U);
}

TEST_F(CurrentIoWordsThreads, HaveALimit) {
  for (uint32_t i = 0; i < memory::CurrentIoPage::kWords; ++i) ASSERT_TRUE(words_.Take());
  const auto one_more = words_.Take();
  ASSERT_FALSE(one_more);
  EXPECT_EQ(one_more.error().code, ErrorCode::kLimit);
  words_.Give(17);
  EXPECT_EQ(*words_.Take(), 17U);
}

TEST_F(CurrentIoWordsThreads, AWaitEndsWithTheResume) {
  const uint32_t index = *words_.Take();
  EXPECT_TRUE(words_.Wait(index, Seconds(20), CountInterest())) << "it is in use";
  EXPECT_EQ(interests_, 0);
  EXPECT_EQ(io(index).Quiesce(), CurrentIo::QuiesceResult::kIdle);
  EXPECT_FALSE(words_.Wait(index, Milliseconds(1), CountInterest()));
  EXPECT_EQ(interests_, 1);
  EXPECT_TRUE(io(index).HasInterest());
  std::thread waiter([&] { EXPECT_TRUE(words_.Wait(index, Seconds(20), CountInterest())); });
  words_.Resume(index);
  waiter.join();
}

TEST_F(CurrentIoWordsThreads, ACallbackIsCalledOnce) {
  const uint32_t index = *words_.Take();
  int calls = 0;
  EXPECT_FALSE(words_.CallWhenResumed(
      index, [&] { ++calls; }, CountInterest()));
  EXPECT_EQ(io(index).Quiesce(), CurrentIo::QuiesceResult::kIdle);
  EXPECT_TRUE(words_.CallWhenResumed(
      index, [&] { ++calls; }, CountInterest()));
  EXPECT_EQ(interests_, 1);
  EXPECT_EQ(calls, 0);
  words_.Resume(index);
  EXPECT_EQ(calls, 1);
  words_.Resume(index);
  EXPECT_EQ(calls, 1);
}

TEST_F(CurrentIoWordsThreads, AWordThatIsGivenBackReleasesWhatWaits) {
  const uint32_t index = *words_.Take();
  EXPECT_EQ(io(index).Quiesce(), CurrentIo::QuiesceResult::kIdle);
  std::thread waiter([&] { EXPECT_TRUE(words_.Wait(index, Seconds(20), CountInterest())); });
  while (interests_ == 0) std::this_thread::yield();
  words_.Give(index);
  waiter.join();
}

}  // namespace
}  // namespace verbena::adapter
