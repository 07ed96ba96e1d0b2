#include "memory/copy/signal_chain.h"

#include <setjmp.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

#include <gtest/gtest.h>

#include "tests/support/pages.h"

// Each test runs in a process of its own, because it leaves handlers behind or dies of the signal.
// The handlers record their calls: "A" is the program's first handler, "B" and "C" are later ones.

namespace verbena::memory {
namespace {

// Global, because a signal handler has no arguments of ours.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)

void Ours(int, siginfo_t* info, void* context);

constinit SignalChain chain(SIGSEGV, Ours);
std::string calls;
struct sigaction a_saved, b_saved, c_saved;
const PagesForTest* pages = nullptr;

void Ours(int, siginfo_t* info, void* context) {
  chain.PassOn(info, static_cast<ucontext_t*>(context));
}

// The end of most tests: makes the page accessible, so that the interrupted access succeeds.
void Repair() { pages->Protect(0, PROT_READ | PROT_WRITE); }

void RepairingA(int, siginfo_t*, void*) {
  calls += 'A';
  Repair();
}

void PlainA(int signal) {
  calls += signal == SIGSEGV ? 'A' : '?';
  Repair();
}

void ChainTo(const struct sigaction& saved, int signal, siginfo_t* info, void* context) {
  if (saved.sa_handler == SIG_DFL) return;
  saved.sa_sigaction(signal, info, context);
}

void ChainingA(int signal, siginfo_t* info, void* context) {
  calls += 'A';
  ChainTo(a_saved, signal, info, context);
}

void ChainingB(int signal, siginfo_t* info, void* context) {
  calls += 'B';
  ChainTo(b_saved, signal, info, context);
}

void ChainingC(int signal, siginfo_t* info, void* context) {
  calls += 'C';
  ChainTo(c_saved, signal, info, context);
}

void RepairingB(int, siginfo_t*, void*) {
  calls += 'B';
  Repair();
}

using InfoHandler = void (*)(int, siginfo_t*, void*);

void Set(InfoHandler handler, struct sigaction* saved = nullptr, unsigned flags = 0) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = static_cast<int>(SA_SIGINFO | flags);
  CHECK(sigaction(SIGSEGV, &action, saved) == 0);
}

void SetPlain(void (*handler)(int), unsigned flags = 0) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = static_cast<int>(flags);
  CHECK(sigaction(SIGSEGV, &action, nullptr) == 0);
}

bool OursIsInFront() {
  struct sigaction current;
  CHECK(sigaction(SIGSEGV, nullptr, &current) == 0);
  return current.sa_sigaction == Ours;
}

void AccessMissingPage() {
  calls.clear();
  pages->Protect(0, PROT_NONE);
  *reinterpret_cast<volatile char*>(pages->data()) = 1;
}

// A plain access of the program to a missing page. Returns the calls.
std::string Touch() {
  AccessMissingPage();
  return calls;
}

// Runs `body` in a process without handlers, such as those of a sanitizer.
template <class Body>
void Isolated(Body body) {
  SetPlain(SIG_DFL);
  const PagesForTest memory(1);
  pages = &memory;
  body();
  _exit(testing::Test::HasFailure() ? 1 : 0);
}

#define EXPECT_HOLDS_ISOLATED(...) \
  EXPECT_EXIT(Isolated([]() __VA_ARGS__), testing::ExitedWithCode(0), "")
#define EXPECT_DIES_ISOLATED(...) \
  EXPECT_EXIT(Isolated([]() __VA_ARGS__), testing::KilledBySignal(SIGSEGV), "")

TEST(SignalChainDeathTest, WithoutPredecessorTheSignalKills) {
  EXPECT_DIES_ISOLATED({
    EXPECT_TRUE(chain.PutInFront());
    Touch();
  });
}

TEST(SignalChainDeathTest, AFaultCannotBeIgnored) {
  EXPECT_DIES_ISOLATED({
    SetPlain(SIG_IGN);
    chain.PutInFront();
    Touch();
  });
}

TEST(SignalChainDeathTest, ASentSignalCanBeIgnored) {
  EXPECT_HOLDS_ISOLATED({
    SetPlain(SIG_IGN);
    chain.PutInFront();
    raise(SIGSEGV);
    EXPECT_TRUE(OursIsInFront());
  });
}

TEST(SignalChainDeathTest, ASentSignalKillsByDefault) {
  EXPECT_DIES_ISOLATED({
    chain.PutInFront();
    raise(SIGSEGV);
  });
}

TEST(SignalChainDeathTest, PredecessorIsCalled) {
  EXPECT_HOLDS_ISOLATED({
    Set(RepairingA);
    EXPECT_TRUE(chain.PutInFront());
    EXPECT_FALSE(chain.PutInFront());
    EXPECT_EQ(Touch(), "A");
    EXPECT_EQ(Touch(), "A");
  });
}

TEST(SignalChainDeathTest, PlainPredecessorIsCalled) {
  EXPECT_HOLDS_ISOLATED({
    SetPlain(PlainA);
    chain.PutInFront();
    EXPECT_EQ(Touch(), "A");
  });
}

TEST(SignalChainDeathTest, RunsAfterALaterHandlerThatChains) {
  EXPECT_HOLDS_ISOLATED({
    Set(RepairingA);
    chain.PutInFront();
    Set(ChainingB, &b_saved);
    EXPECT_EQ(Touch(), "BA");
  });
}

// Ours calls B, and B calls ours: the cycle must end at A.
TEST(SignalChainDeathTest, RunsBeforeAndAfterALaterHandler) {
  EXPECT_HOLDS_ISOLATED({
    Set(RepairingA);
    chain.PutInFront();
    Set(ChainingB, &b_saved);
    EXPECT_TRUE(chain.PutInFront());
    EXPECT_TRUE(OursIsInFront());
    EXPECT_EQ(Touch(), "BA");
    Set(ChainingC, &c_saved);
    EXPECT_TRUE(chain.PutInFront());
    EXPECT_EQ(Touch(), "CBA");
    EXPECT_EQ(Touch(), "CBA");
  });
}

TEST(SignalChainDeathTest, ACycleOfHandlersEndsInTheDefaultAction) {
  EXPECT_DIES_ISOLATED({
    Set(ChainingA, &a_saved);
    chain.PutInFront();
    Set(ChainingA, &a_saved);  // saves our handler, and so calls it
    chain.PutInFront();
    Touch();
  });
}

TEST(SignalChainDeathTest, SurvivesRepeatedReplacementByTheSameHandler) {
  EXPECT_HOLDS_ISOLATED({
    Set(RepairingA);
    chain.PutInFront();
    for (int i = 0; i < 100; ++i) {
      Set(ChainingB, &b_saved);
      EXPECT_TRUE(chain.PutInFront());
      EXPECT_EQ(Touch(), "BA");
    }
  });
}

TEST(SignalChainDeathTest, HandlerThatTheProgramDroppedIsNotCalled) {
  EXPECT_HOLDS_ISOLATED({
    Set(RepairingA);
    chain.PutInFront();
    Set(ChainingB, &b_saved);
    chain.PutInFront();
    Set(RepairingA);
    EXPECT_TRUE(chain.PutInFront());
    EXPECT_EQ(Touch(), "A");
  });
}

TEST(SignalChainDeathTest, LaterHandlerThatDoesNotChainEndsTheChain) {
  EXPECT_HOLDS_ISOLATED({
    Set(RepairingA);
    chain.PutInFront();
    Set(RepairingB);
    chain.PutInFront();
    EXPECT_EQ(Touch(), "B");
  });
}

TEST(SignalChainDeathTest, StepAsideRestoresThePredecessor) {
  EXPECT_HOLDS_ISOLATED({
    Set(RepairingA);
    chain.PutInFront();
    chain.StepAside();
    EXPECT_FALSE(OursIsInFront());
    EXPECT_EQ(Touch(), "A");
    EXPECT_TRUE(chain.PutInFront());
    EXPECT_EQ(Touch(), "A");
  });
}

TEST(SignalChainDeathTest, StepAsideKeepsALaterHandlerThatChains) {
  EXPECT_HOLDS_ISOLATED({
    Set(RepairingA);
    chain.PutInFront();
    Set(ChainingB, &b_saved);
    chain.StepAside();
    EXPECT_EQ(Touch(), "BA");
    chain.PutInFront();
    chain.StepAside();
    EXPECT_FALSE(OursIsInFront());
    EXPECT_EQ(Touch(), "BA");
  });
}

TEST(SignalChainDeathTest, ANinthHandlerIsNotReplaced) {
  EXPECT_HOLDS_ISOLATED({
    struct sigaction action {};
    action.sa_sigaction = RepairingA;
    action.sa_flags = SA_SIGINFO;
    for (size_t i = 0; i <= SignalChain::kPredecessorsMax; ++i) {
      sigemptyset(&action.sa_mask);
      sigaddset(&action.sa_mask, SIGRTMIN + static_cast<int>(i));
      CHECK(sigaction(SIGSEGV, &action, nullptr) == 0);
      EXPECT_EQ(chain.PutInFront(), i < SignalChain::kPredecessorsMax);
      EXPECT_EQ(Touch(), "A");
    }
  });
}

// ---- Flags and mask of the predecessor.

bool IsBlocked(int signal) {
  sigset_t blocked;
  CHECK(pthread_sigmask(SIG_BLOCK, nullptr, &blocked) == 0);
  return sigismember(&blocked, signal) == 1;
}

void NoteBlocked(int, siginfo_t*, void*) {
  calls += IsBlocked(SIGSEGV) ? 'S' : '-';
  calls += IsBlocked(SIGUSR1) ? 'U' : '-';
  Repair();
}

TEST(SignalChainDeathTest, MaskIsThatOfThePredecessor) {
  EXPECT_HOLDS_ISOLATED({
    struct sigaction action {};
    action.sa_sigaction = NoteBlocked;
    action.sa_flags = SA_SIGINFO;
    sigaddset(&action.sa_mask, SIGUSR1);
    CHECK(sigaction(SIGSEGV, &action, nullptr) == 0);
    chain.PutInFront();
    EXPECT_EQ(Touch(), "SU");
    EXPECT_FALSE(IsBlocked(SIGSEGV));
    EXPECT_FALSE(IsBlocked(SIGUSR1));
  });
}

TEST(SignalChainDeathTest, NoDeferLeavesTheSignalUnblocked) {
  EXPECT_HOLDS_ISOLATED({
    Set(NoteBlocked, nullptr, SA_NODEFER);
    const std::string without_us = Touch();  // "--", except that TSan blocks all signals
    chain.PutInFront();
    EXPECT_EQ(Touch(), without_us);
  });
}

TEST(SignalChainDeathTest, ResetHandlerIsCalledOnce) {
  EXPECT_DIES_ISOLATED({
    Set(RepairingA, nullptr, SA_RESETHAND);
    chain.PutInFront();
    if (Touch() != "A") _exit(2);
    Touch();
  });
}

TEST(SignalChainDeathTest, ResetHandlerThatWasSetAgainIsCalledAgain) {
  EXPECT_HOLDS_ISOLATED({
    for (int i = 0; i < 3; ++i) {
      Set(RepairingA, nullptr, SA_RESETHAND);
      chain.PutInFront();
      EXPECT_EQ(Touch(), "A");
    }
  });
}

alignas(16) char alternate_stack[1 << 17];

void NoteStack(int, siginfo_t*, void*) {
  const auto* frame = static_cast<const char*>(__builtin_frame_address(0));
  const bool alternate =
      frame >= alternate_stack && frame < alternate_stack + sizeof alternate_stack;
  calls += alternate ? "alternate" : "normal";
  Repair();
}

TEST(SignalChainDeathTest, StackIsThatOfThePredecessor) {
  EXPECT_HOLDS_ISOLATED({
    const stack_t stack = {
        .ss_sp = alternate_stack, .ss_flags = 0, .ss_size = sizeof alternate_stack};
    CHECK(sigaltstack(&stack, nullptr) == 0);
    Set(NoteStack, nullptr, SA_ONSTACK);
    chain.PutInFront();
    EXPECT_EQ(Touch(), "alternate");
    Set(NoteStack);
    chain.PutInFront();
    EXPECT_EQ(Touch(), "normal");
  });
}

sigjmp_buf escape;

void LongJumpingB(int, siginfo_t*, void*) {
  calls += 'B';
  siglongjmp(escape, 1);
}

std::string TouchAndEscape() {
  if (sigsetjmp(escape, 1) == 0) AccessMissingPage();
  return calls;
}

// A handler that does not return must not affect the handling of the next fault.
TEST(SignalChainDeathTest, HandlerMayLeaveByLongJump) {
  EXPECT_HOLDS_ISOLATED({
    Set(RepairingA);
    chain.PutInFront();
    Set(LongJumpingB);
    chain.PutInFront();
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(TouchAndEscape(), "B");
    }
  });
}

// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace
}  // namespace verbena::memory
