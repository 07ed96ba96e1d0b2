#include "memory/copy/signal_chain.h"

#include <pthread.h>
#include <ucontext.h>

#include "base/check.h"

namespace verbena::memory {
namespace {

constexpr unsigned kIndexBits = 8;
constexpr uint64_t kIndexMask = (uint64_t{1} << kIndexBits) - 1;
static_assert(SignalChain::kPredecessorsMax * kIndexBits <= 64);
static_assert(SignalChain::kPredecessorsMax <= kIndexMask);

bool Has(const struct sigaction& action, unsigned flag) {
  return (static_cast<unsigned>(action.sa_flags) & flag) != 0;
}

bool IsHandler(const struct sigaction& action) {
  return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

// Compares member by member, because the C library adds a flag of its own and leaves most of the
// mask uninitialised.
bool Same(const struct sigaction& a, const struct sigaction& b) {
  if (a.sa_handler != b.sa_handler) return false;
  if (!IsHandler(a)) return true;
  for (const unsigned flag : {unsigned{SA_SIGINFO}, unsigned{SA_NODEFER}, unsigned{SA_RESETHAND},
                              unsigned{SA_ONSTACK}, unsigned{SA_RESTART}}) {
    if (Has(a, flag) != Has(b, flag)) return false;
  }
  for (int signal = 1; signal < NSIG; ++signal) {
    if (sigismember(&a.sa_mask, signal) != sigismember(&b.sa_mask, signal)) return false;
  }
  return true;
}

// The depth of a fault that is passed on is stored in `uc_link`: the system sets it to null for
// each signal and does not read it when the handler returns.
size_t DepthOf(const ucontext_t& context) { return reinterpret_cast<uintptr_t>(context.uc_link); }

void SetDepth(ucontext_t& context, size_t depth) {
  context.uc_link = reinterpret_cast<ucontext_t*>(depth);
}

}  // namespace

bool IsFault(int signal, const siginfo_t* info) {
  // A memory error that the thread did not access: the kernel only reports it.
  if (signal == SIGBUS && info->si_code == BUS_MCEERR_AO) return false;
  return info->si_code > 0;
}

bool SignalChain::PutInFront() {
  const MutexLock lock(mutex_);
  Action current = Current();
  // The predecessor must be in the chain before our handler can be called. If another thread of the
  // program changes the action in between, Replace returns the actual predecessor.
  if (IsOurs(current) || !TakeOver(current)) return false;
  for (;;) {
    const Action replaced = Replace(InFrontOf(current));
    if (IsOurs(replaced) || Same(replaced, current)) return true;
    if (!TakeOver(replaced)) {
      Replace(replaced);
      return false;
    }
    current = replaced;
  }
}

void SignalChain::StepAside() {
  const MutexLock lock(mutex_);
  if (!IsOurs(Current())) return;
  Replace(At(0)->action);
  // Our handler is no longer in front of the predecessor, but the predecessor may call it. The last
  // one stays in the chain for handlers that are running at this moment.
  const uint64_t rest = order_.load(std::memory_order_relaxed) >> kIndexBits;
  if (rest != 0) order_.store(rest, std::memory_order_release);
}

void SignalChain::PassOn(siginfo_t* info, ucontext_t* context) {
  const size_t depth = DepthOf(*context);
  Predecessor* const next = At(depth);
  SetDepth(*context, depth + 1);
  Call(next, info, context);
  SetDepth(*context, depth);
}

bool SignalChain::IsOurs(const Action& action) const {
  return Has(action, SA_SIGINFO) && action.sa_sigaction == ours_;
}

SignalChain::Action SignalChain::Current() const {
  Action current{};
  CHECK(sigaction(signal_, nullptr, &current) == 0);
  return current;
}

SignalChain::Action SignalChain::Replace(const Action& action) const {
  Action replaced{};
  CHECK(sigaction(signal_, &action, &replaced) == 0);
  return replaced;
}

// Our action blocks no signal and runs on the stack of the predecessor. Call then blocks the
// signals in the mask of the predecessor, so that it runs as without our handler. If there is none,
// the alternate stack is safer.
SignalChain::Action SignalChain::InFrontOf(const Action& predecessor) const {
  const int inherited =
      IsHandler(predecessor) ? predecessor.sa_flags & (SA_ONSTACK | SA_RESTART) : SA_ONSTACK;
  Action action{};
  action.sa_sigaction = ours_;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | inherited;
  sigemptyset(&action.sa_mask);
  return action;
}

// Makes `action` the newest of the chain. If it is already in the chain, the program has restored
// it, and the newer ones leave the chain.
bool SignalChain::TakeOver(const Action& action) {
  const std::optional<uint64_t> name = Intern(action);
  if (!name) return false;
  const uint64_t order = order_.load(std::memory_order_relaxed);
  uint64_t rest = order;
  while (rest != 0 && (rest & kIndexMask) != *name) rest >>= kIndexBits;
  order_.store(rest != 0 ? rest : order << kIndexBits | *name, std::memory_order_release);
  return true;
}

// The number of `action` in `order_`, a new one if necessary; nullopt if there is no room.
std::optional<uint64_t> SignalChain::Intern(const Action& action) {
  for (size_t i = 0; i < known_; ++i) {
    if (!Same(predecessors_[i].action, action)) continue;
    predecessors_[i].spent.store(false, std::memory_order_relaxed);
    return i + 1;
  }
  if (known_ == kPredecessorsMax) return std::nullopt;
  predecessors_[known_].action = action;
  return ++known_;
}

SignalChain::Predecessor* SignalChain::At(size_t depth) {
  if (depth >= kPredecessorsMax) return nullptr;
  const uint64_t name = order_.load(std::memory_order_acquire) >> (depth * kIndexBits) & kIndexMask;
  return name == 0 ? nullptr : &predecessors_[name - 1];
}

void SignalChain::Call(Predecessor* predecessor, siginfo_t* info, ucontext_t* context) {
  if (predecessor == nullptr) return TakeDefault(false, info);
  const Action& action = predecessor->action;
  if (!IsHandler(action)) return TakeDefault(action.sa_handler == SIG_IGN, info);
  if (Has(action, SA_RESETHAND) && predecessor->spent.exchange(true)) {
    return TakeDefault(false, info);
  }
  sigset_t blocked = action.sa_mask;
  if (!Has(action, SA_NODEFER)) sigaddset(&blocked, signal_);
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  if (Has(action, SA_SIGINFO)) {
    action.sa_sigaction(signal_, info, context);
  } else {
    action.sa_handler(signal_);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Ends the process as the signal would without a handler. For a fault it is enough to return: the
// same instruction faults again, and the core file shows it. A signal that was sent is sent again.
void SignalChain::TakeDefault(bool ignored, const siginfo_t* info) const {
  const bool fault = IsFault(signal_, info);
  if (ignored && !fault) return;  // a fault cannot be ignored
  Action action{};
  action.sa_handler = SIG_DFL;
  Replace(action);
  if (!fault) raise(signal_);
}

}  // namespace verbena::memory
