#include "memory/signal_guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include "base/check.h"
#include "memory/guarded_copy_raw.h"
#include "memory/signal_chain.h"

namespace verbena::memory {

#if VERBENA_GUARDED_ASSEMBLY

namespace {

void OnSignal(int signal, siginfo_t* info, void* context);

constinit SignalChain segv_chain(SIGSEGV, OnSignal);
constinit SignalChain bus_chain(SIGBUS, OnSignal);

// Whether the thread was in a guarded access, which now goes on at its recovery point.
bool Recover(int signal, const siginfo_t* info, ucontext_t* context) {
  greg_t& program_counter = context->uc_mcontext.gregs[REG_RIP];
  const uintptr_t resume = internal::assembly::RecoveryFor(static_cast<uintptr_t>(program_counter));
  if (resume == 0 || !IsFault(signal, info)) return false;
  program_counter = static_cast<greg_t>(resume);
  return true;
}

void OnSignal(int signal, siginfo_t* info, void* context) {
  auto* const interrupted = static_cast<ucontext_t*>(context);
  if (Recover(signal, info, interrupted)) return;
  const int error = errno;
  (signal == SIGSEGV ? segv_chain : bus_chain).PassOn(info, interrupted);
  errno = error;
}

}  // namespace

bool SignalGuard::EnsureInstalled() {
  const bool segv = segv_chain.PutInFront();
  const bool bus = bus_chain.PutInFront();
  return segv || bus;
}

void SignalGuard::Uninstall() {
  segv_chain.StepAside();
  bus_chain.StepAside();
}

void SignalGuard::UnblockInThisThread() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGSEGV);
  sigaddset(&signals, SIGBUS);
  CHECK(pthread_sigmask(SIG_UNBLOCK, &signals, nullptr) == 0);
}

#else  // Guarded accesses raise no signal.

bool SignalGuard::EnsureInstalled() { return false; }
void SignalGuard::Uninstall() {}
void SignalGuard::UnblockInThisThread() {}

#endif

}  // namespace verbena::memory
