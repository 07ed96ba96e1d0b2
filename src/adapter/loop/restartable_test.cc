#include "adapter/loop/restartable.h"

#include <csignal>

#include <gtest/gtest.h>

namespace verbena::adapter {
namespace {

// Installs a handler of a signal for its lifetime.
class Handler {
 public:
  Handler(int signal, int flags) : signal_(signal) {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    action.sa_flags = flags;
    sigaction(signal_, &action, &before_);
  }
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;
  ~Handler() { sigaction(signal_, &before_, nullptr); }

 private:
  const int signal_;
  struct sigaction before_ {};
};

TEST(RestartableTest, AHandlerWithoutTheFlagEndsAWait) {
  EXPECT_TRUE(SignalsRestart());
  {
    const Handler restarts(SIGUSR1, SA_RESTART);
    EXPECT_TRUE(SignalsRestart());
    const Handler ends(SIGUSR2, 0);
    EXPECT_FALSE(SignalsRestart());
  }
  EXPECT_TRUE(SignalsRestart());
}

TEST(RestartableTest, SignalsThatAThreadRaisesItselfEndNoWait) {
  const Handler fault(SIGFPE, 0);
  EXPECT_TRUE(SignalsRestart());
}

}  // namespace
}  // namespace verbena::adapter
