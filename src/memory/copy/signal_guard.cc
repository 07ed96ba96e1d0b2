#include "memory/copy/signal_guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "base/check.h"
#include "memory/copy/guarded_copy_raw.h"
#include "memory/copy/signal_chain.h"

namespace verbena::memory {
namespace {

void OnSignal(int signal, siginfo_t* info, void* context);

// Global, because a signal handler has no arguments of ours.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
constinit SignalChain segv_chain(SIGSEGV, OnSignal);
constinit SignalChain bus_chain(SIGBUS, OnSignal);
constinit std::atomic<SignalGuard::FaultServer> fault_server = nullptr;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

bool Serve(int signal, const siginfo_t* info, const ucontext_t* context) {
  const SignalGuard::FaultServer server = fault_server.load(std::memory_order_acquire);
  return server != nullptr && signal == SIGSEGV && IsFault(signal, info) && server(*info, *context);
}

// Its address is the value of the signal that Interrupt sends.
constexpr char kInterruptMark = 0;

bool IsInterrupt(int signal, const siginfo_t* info) {
  return signal == SIGBUS && info->si_code == SI_QUEUE &&
         info->si_value.sival_ptr == &kInterruptMark;
}

#if VERBENA_GUARDED_ASSEMBLY

// Whether the guarded access is complete: only `movq %rdx, %rax` and `ret` are left. These do not
// fault, but an interrupt can occur there; recovery would then execute an atomic twice.
bool IsDone(uintptr_t program_counter) {
  const auto* const code = reinterpret_cast<const uint8_t*>(program_counter);
  return code[0] == 0xc3 || (code[0] == 0x48 && code[1] == 0x89 && code[2] == 0xd0);
}

void CallBack(ucontext_t* context) {
  greg_t& program_counter = context->uc_mcontext.gregs[REG_RIP];
  const auto here = static_cast<uintptr_t>(program_counter);
  const uintptr_t resume = internal::assembly::RecoveryFor(here);
  if (resume != 0 && !IsDone(here)) program_counter = static_cast<greg_t>(resume);
}

// Whether the thread was in a guarded access, which then resumes at its recovery point.
bool Recover(int signal, const siginfo_t* info, ucontext_t* context) {
  greg_t& program_counter = context->uc_mcontext.gregs[REG_RIP];
  const uintptr_t resume = internal::assembly::RecoveryFor(static_cast<uintptr_t>(program_counter));
  if (resume == 0 || !IsFault(signal, info)) return false;
  program_counter = static_cast<greg_t>(resume);
  return true;
}

bool NeedsHandler() { return true; }

#else  // Guarded accesses raise no signal.

void CallBack(ucontext_t*) {}
bool Recover(int, const siginfo_t*, ucontext_t*) { return false; }
bool NeedsHandler() { return fault_server.load(std::memory_order_relaxed) != nullptr; }

#endif

void OnSignal(int signal, siginfo_t* info, void* context) {
  auto* const interrupted = static_cast<ucontext_t*>(context);
  const int error = errno;
  if (IsInterrupt(signal, info)) {
    CallBack(interrupted);
  } else if (!Serve(signal, info, interrupted) && !Recover(signal, info, interrupted)) {
    (signal == SIGSEGV ? segv_chain : bus_chain).PassOn(info, interrupted);
  }
  errno = error;
}

}  // namespace

bool SignalGuard::EnsureInstalled() {
  if (!NeedsHandler()) return false;
  const bool segv = segv_chain.PutInFront();
  const bool bus = bus_chain.PutInFront();
  return segv || bus;
}

void SignalGuard::InstallWith(FaultServer server) {
  fault_server.store(server, std::memory_order_release);
  EnsureInstalled();
}

void SignalGuard::Uninstall() {
  if (!NeedsHandler()) return;
  segv_chain.StepAside();
  bus_chain.StepAside();
}

void SignalGuard::Interrupt(pid_t thread) {
  if (!NeedsHandler()) return;
  // Another handler in front would not recognise the signal.
  EnsureInstalled();
  siginfo_t info{};
  info.si_code = SI_QUEUE;
  info.si_pid = getpid();
  info.si_uid = getuid();
  info.si_value.sival_ptr = const_cast<char*>(&kInterruptMark);
  syscall(SYS_rt_tgsigqueueinfo, info.si_pid, thread, SIGBUS, &info);
}

void SignalGuard::UnblockInThisThread() {
  if (!NeedsHandler()) return;
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGSEGV);
  sigaddset(&signals, SIGBUS);
  CHECK(pthread_sigmask(SIG_UNBLOCK, &signals, nullptr) == 0);
}

}  // namespace verbena::memory
