#pragma once

#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

#include "base/rollback.h"

namespace verbena {

// Starts a thread that takes no signals of the program, whose handlers do not expect it. All
// signals are blocked except the synchronous ones (SIGSEGV, SIGBUS, ...), which guarded copies
// need. Throws std::system_error if the system refuses the thread.
template <class Fn>
[[nodiscard]] std::thread StartQuietThread(const char* name, Fn fn) {
  sigset_t quiet, before;
  sigfillset(&quiet);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) sigdelset(&quiet, own);
  // A thread inherits the mask of its creator. Setting it first leaves no moment without it.
  pthread_sigmask(SIG_SETMASK, &quiet, &before);
  const Rollback mask([&] { pthread_sigmask(SIG_SETMASK, &before, nullptr); });
  std::thread thread(std::move(fn));
  pthread_setname_np(thread.native_handle(), name);
  return thread;
}

}  // namespace verbena
