#pragma once

#include <signal.h>
#include <sys/types.h>
#include <ucontext.h>

namespace verbena::memory {

// The handler of SIGSEGV and SIGBUS that turns a fault of a guarded access into a result, and hands
// every other fault to the handlers of the program, as if ours were not there.
//
// All members are static, against the house rule, because there is nothing to own: a signal's
// disposition belongs to the process, which has only one.
//
// Our handler must be the first to see a fault. A handler that the program had before stays, behind
// ours. A handler that the program sets later either calls ours, which is enough, or does not: then
// EnsureInstalled puts ours in front again. Our handler can be on both sides of the same handler: a
// fault that none of them handles still goes through all of them once and ends with the one that
// was there first.
//
// Thread rule: any thread can call any of these at any time, but not from a signal handler. No
// guarded access may be in progress during Uninstall. A thread that makes guarded accesses must not
// block the two signals, since the kernel then ends the process without calling a handler.
class SignalGuard {
 public:
  // Puts our handler in front; does nothing if it is there.
  static void Install() { EnsureInstalled(); }

  // The same. Costs one query per signal if our handler is in front already. True if it was not.
  //
  // If a program has set more than eight different handlers for one signal, its ninth stays in
  // front: our handler could not call it afterwards, which would break the program.
  static bool EnsureInstalled();

  // Puts back the handler that ours stands in front of. If ours is not in front, it stays where it
  // is: it may be in the middle of a chain that we cannot see.
  static void Uninstall();

  // The signal handler calls the server first for each SIGSEGV fault. The server returns true if
  // the instruction can be tried again. It serves managed memory, whose accesses wait for pages.
  // One per process; it stays installed.
  using FaultServer = bool (*)(const siginfo_t& info, const ucontext_t& context);
  static void InstallWith(FaultServer server);

  // Calls back a thread (gettid) that sleeps in the page fault of a guarded access, because the
  // page is under a userfaultfd that does not answer: the access ends as if the page were missing.
  // A copy first continues in smaller steps, to find what is missing, so the caller must repeat
  // this until the thread goes on. If the thread is not in a guarded access, this only interrupts
  // its system calls. No effect on a thread that blocks SIGBUS, or that sleeps for a disk or a file
  // server; and none where guarded accesses raise no signal.
  static void Interrupt(pid_t thread);

  // Unblocks both signals in the calling thread, for programs that block all signals in their
  // threads. One call per thread.
  static void UnblockInThisThread();
};

}  // namespace verbena::memory
