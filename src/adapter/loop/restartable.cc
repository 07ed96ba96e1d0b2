#include "adapter/loop/restartable.h"

#include <csignal>

namespace verbena::adapter {
namespace {

// A thread gets these signals for its own instructions, so they end no sleep.
bool IsSynchronous(int signal) {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
         signal == SIGTRAP;
}

}  // namespace

bool SignalsRestart() {
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    struct sigaction action {};
    if (IsSynchronous(signal) || sigaction(signal, nullptr, &action) != 0) continue;
    const bool has_handler = (action.sa_flags & SA_SIGINFO) != 0 ||
                             (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
    if (has_handler && (action.sa_flags & SA_RESTART) == 0) return false;
  }
  return true;
}

}  // namespace verbena::adapter
