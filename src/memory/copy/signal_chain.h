#pragma once

#include <signal.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/mutex.h"

namespace verbena::memory {

// The chain of handlers of one signal: our handler is in front of the actions of the program, the
// newest first, and calls them as the kernel would.
//
// A handler that was set after ours may call ours, and ours calls it: a cycle. So a fault that is
// passed on carries its depth in the chain. When the fault reaches our handler again, it goes one
// handler further, and after the end of the chain to the default action. The depth is stored in the
// context of the fault, so a handler that leaves by longjmp leaves no state behind.
//
// Invariant: an entry of `predecessors_` does not change once `order_` refers to it, because a
// handler in another thread may be reading it.
// Thread rule: any thread; PassOn also in a signal handler, because it takes no lock.
class SignalChain {
 public:
  using Handler = void (*)(int, siginfo_t*, void*);

  static constexpr size_t kPredecessorsMax = 8;

  constexpr SignalChain(int signal, Handler ours) : signal_(signal), ours_(ours) {}

  // True if our handler was not in front and is there afterwards.
  bool PutInFront() VERBENA_EXCLUDES(mutex_);

  // Undoes PutInFront, if our handler is still in front.
  void StepAside() VERBENA_EXCLUDES(mutex_);

  // Calls the next handler of the chain for a signal that is not ours. The pointers are the
  // arguments of our handler.
  void PassOn(siginfo_t* info, ucontext_t* context);

 private:
  using Action = struct sigaction;

  struct Predecessor {
    Action action{};
    std::atomic<bool> spent{false};  // has SA_RESETHAND and was called
  };

  bool IsOurs(const Action& action) const;
  Action Current() const;
  Action Replace(const Action& action) const;
  Action InFrontOf(const Action& predecessor) const;

  bool TakeOver(const Action& action) VERBENA_REQUIRES(mutex_);
  std::optional<uint64_t> Intern(const Action& action) VERBENA_REQUIRES(mutex_);

  Predecessor* At(size_t depth);
  void Call(Predecessor* predecessor, siginfo_t* info, ucontext_t* context);
  void TakeDefault(bool ignored, const siginfo_t* info) const;

  const int signal_;
  const Handler ours_;
  Mutex mutex_;                                             // held while the disposition changes
  std::array<Predecessor, kPredecessorsMax> predecessors_;  // written under mutex_, see invariant
  size_t known_ VERBENA_GUARDED_BY(mutex_) = 0;
  // The chain in one word, so that a handler sees a consistent chain: a byte per handler, the
  // newest lowest, each the index in `predecessors_` plus one; zero ends it. Written under mutex_.
  std::atomic<uint64_t> order_{0};
};

// Whether a signal is a fault of the interrupted instruction, and not one that was sent.
bool IsFault(int signal, const siginfo_t* info);

}  // namespace verbena::memory
