#include "cli/ping.h"

#include <csignal>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "cli/interrupt.h"

namespace verbena::cli {
namespace {

TEST(PingTest, EveryMessageComesBack) {
  for (const uint32_t size : {1U, 64U, 5'000U, 100'000U}) {
    const auto latencies = Ping({}, {.size = size, .count = 50});
    ASSERT_TRUE(latencies) << latencies.error().text;
    EXPECT_EQ(latencies->count(), 50);
    EXPECT_GT(latencies->WithinUs(0), 0);
  }
}

TEST(PingTest, EmptyMessagesComeBackToo) {
  const auto latencies = Ping({}, {.size = 0, .count = 5});
  ASSERT_TRUE(latencies) << latencies.error().text;
  EXPECT_EQ(latencies->count(), 5);
}

TEST(PingTest, AnInterruptEndsItWithTheResultsSoFar) {
  CatchInterrupts();
  std::thread user([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    std::raise(SIGINT);
  });
  const auto latencies = Ping({}, {.count = 100'000'000});
  user.join();
  ASSERT_TRUE(latencies) << latencies.error().text;
  EXPECT_LT(latencies->count(), 100'000'000);
  CatchInterrupts();
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace
}  // namespace verbena::cli
