#include "cli/interrupt.h"

#include <csignal>
#include <initializer_list>

namespace verbena::cli {
namespace {

// Global, because a signal handler has no other way to pass a value on.
volatile std::sig_atomic_t g_interrupted = 0;

void Note(int /*signal*/) { g_interrupted = 1; }

}  // namespace

void CatchInterrupts() {
  g_interrupted = 0;
  struct sigaction action {};
  action.sa_handler = Note;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // and no SA_RESTART
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

bool Interrupted() { return g_interrupted != 0; }

}  // namespace verbena::cli
