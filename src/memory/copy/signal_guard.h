#pragma once

#include <signal.h>
#include <sys/types.h>
#include <ucontext.h>

namespace verbena::memory {

// The handler of SIGSEGV and SIGBUS. It turns a fault of a guarded access into a result, and passes
// every other fault to the handlers of the program, as if ours were not installed.
//
// All members are static, against the house rule, because the disposition of a signal belongs to
// the process.
//
// Our handler must be called first. An earlier handler of the program stays in the chain after
// ours. A handler that the program sets later either calls ours, which is enough, or does not: then
// EnsureInstalled puts ours in front again. Our handler can be before and after the same handler: a
// fault that none of them handles still goes through all of them once and ends with the oldest.
//
// Thread rule: any thread at any time, but not in a signal handler. No guarded access may be in
// progress during Uninstall. A thread with guarded accesses must not block the two signals, because
// then the kernel ends the process without calling a handler.
class SignalGuard {
 public:
  // Puts our handler in front, if it is not there.
  static void Install() { EnsureInstalled(); }

  // The same. Costs one query per signal if our handler is in front already. True if it was not.
  //
  // If a program has set more than eight different handlers for one signal, its ninth stays in
  // front, because our handler could not call it.
  static bool EnsureInstalled();

  // Restores the predecessor of our handler. If ours is not in front, it stays, because it may be
  // in the middle of a chain.
  static void Uninstall();

  // The signal handler calls the fault server first for each SIGSEGV fault. The server returns true
  // if the instruction can be retried. It serves managed memory, whose accesses wait for pages. One
  // per process; it stays installed.
  using FaultServer = bool (*)(const siginfo_t& info, const ucontext_t& context);
  static void InstallWith(FaultServer server);

  // Interrupts a thread (gettid) that sleeps in the page fault of a guarded access, because the
  // page is under a userfaultfd that does not answer: the access ends as if the page were missing.
  // A copy first continues in smaller steps, to find the missing byte, so the caller must repeat
  // this until the access ends. If the thread is not in a guarded access, this only interrupts its
  // system calls. No effect on a thread that blocks SIGBUS, or that sleeps for a disk or a file
  // server; and none where guarded accesses raise no signal.
  static void Interrupt(pid_t thread);

  // Unblocks both signals in the calling thread, for programs that block all signals in their
  // threads. One call per thread.
  static void UnblockInThisThread();
};

}  // namespace verbena::memory
