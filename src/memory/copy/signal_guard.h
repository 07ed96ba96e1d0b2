#pragma once

#include <signal.h>
#include <sys/types.h>
#include <ucontext.h>

namespace verbena::memory {

// The handler of SIGSEGV and SIGBUS that turns a fault of a guarded access into a result, and hands
// every other fault to the handlers of the program, as if ours were not there.
//
// All of it is static, against the rule of this house, because there is nothing to own: a signal's
// disposition belongs to the process, and a program may hold only one.
//
// Ours must be the first to see a fault. Programs that had a handler before us keep it, behind
// ours. Programs that set one later either call ours from it, and all is well, or do not: for them
// EnsureInstalled puts ours in front again. It is safe to be on both sides of the same handler: a
// fault that none of them handles still goes through all of them once and ends with the one that
// was there first.
//
// Thread rule: any thread may call any of these at any time, but not from a signal handler; and
// no guarded access may be under way in Uninstall. A thread that makes guarded accesses must not
// block the two signals, since the system then ends the process without asking a handler.
class SignalGuard {
 public:
  // Puts our handler in front; does nothing if it is there.
  static void Install() { EnsureInstalled(); }

  // The same, at the cost of one query per signal when there is nothing to do. True if there was.
  //
  // A program that has shown more than eight different handlers for one signal keeps its ninth: to
  // stand in front of a handler that we cannot call afterwards would break the program.
  static bool EnsureInstalled();

  // Puts back the handler that ours stands in front of. Where ours is not in front, it may be in
  // the middle of a chain that we cannot see, and so stays.
  static void Uninstall();

  // Asked first about each fault, in the signal handler: true if the instruction may be tried
  // again. For memory that we hand out ourselves and whose accesses we hold up. One for the
  // process; it stays.
  using FaultServer = bool (*)(const siginfo_t& info, const ucontext_t& context);
  static void InstallWith(FaultServer server);

  // Calls back a thread (gettid) that sleeps in the page fault of a guarded access, because the
  // page is under a userfaultfd that does not answer: the access ends as if the page were missing.
  // A copy first goes on in smaller steps, to find what is missing; so this has to be repeated
  // until the thread goes on. Does nothing to a thread that is not in a guarded access, but
  // interrupts its system calls; nothing to one that blocks SIGBUS, or sleeps for a disk or a file
  // server; and nothing where guarded accesses raise no signal.
  static void Interrupt(pid_t thread);

  // For threads of programs that block all signals in their threads; one call per thread.
  static void UnblockInThisThread();
};

}  // namespace verbena::memory
