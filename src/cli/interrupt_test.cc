#include "cli/interrupt.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>

#include <gtest/gtest.h>

namespace verbena::cli {
namespace {

class InterruptTest : public testing::Test {
 protected:
  ~InterruptTest() override {
    CatchInterrupts();  // clears earlier interrupts
    for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
  }
};

TEST_F(InterruptTest, TheFirstIsRecordedAndTheSecondEndsTheProgram) {
  for (const int signal : {SIGINT, SIGTERM}) {
    CatchInterrupts();
    EXPECT_FALSE(Interrupted());
    std::raise(signal);
    EXPECT_TRUE(Interrupted());
    EXPECT_EXIT(std::raise(signal), testing::KilledBySignal(signal), "");
  }
}

TEST_F(InterruptTest, EndsAWaitInTheKernel) {
  CatchInterrupts();
  alarm(0);
  std::signal(SIGALRM, [](int) { std::raise(SIGINT); });
  ualarm(20'000, 0);
  EXPECT_LT(usleep(900'000), 0);
  EXPECT_EQ(errno, EINTR);
  EXPECT_TRUE(Interrupted());
  std::signal(SIGALRM, SIG_DFL);
}

}  // namespace
}  // namespace verbena::cli
