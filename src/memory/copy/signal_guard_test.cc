#include "memory/copy/signal_guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "memory/copy/guarded_copy.h"
#include "tests/support/pages.h"

// Each test runs in a process of its own, because it leaves handlers behind or dies of the signal.

namespace verbena::memory {
namespace {

// Global, because a signal handler has no arguments of ours.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)

constexpr int kHandled = 42;

struct sigaction saved;
std::atomic<int> handled = 0;

void Exit(int, siginfo_t*, void*) { _exit(kHandled); }

void ChainToSaved(int signal, siginfo_t* info, void* context) {
  ++handled;
  if (saved.sa_handler != SIG_DFL) saved.sa_sigaction(signal, info, context);
}

void Set(int signal, void (*handler)(int, siginfo_t*, void*), struct sigaction* old = nullptr) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  CHECK(sigaction(signal, &action, old) == 0);
}

void SetDefault(int signal) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  CHECK(sigaction(signal, &action, nullptr) == 0);
}

// Three pages: one is accessible, one protected (SIGSEGV), one beyond the end of the file (SIGBUS).
class Holes {
 public:
  Holes() {
    pages_.Truncate(2);
    pages_.Protect(1, PROT_NONE);
  }
  std::byte* protected_page() const { return pages_.page(1); }
  std::byte* truncated_page() const { return pages_.page(2); }

 private:
  PagesForTest pages_{3};
};

// A plain access of the program.
void Touch(std::byte* address) { *reinterpret_cast<volatile char*>(address) = 1; }

bool GuardCatches(const std::byte* missing) {
  std::array<std::byte, 100> target;
  return GuardedCopy(target.data(), missing, target.size()).fault == MachineAddressOf(missing);
}

void ExpectGuarded(const Holes& holes) {
  EXPECT_TRUE(GuardCatches(holes.protected_page()));
  EXPECT_TRUE(GuardCatches(holes.truncated_page()));
}

class SignalGuardDeathTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!VERBENA_GUARDED_ASSEMBLY) GTEST_SKIP() << "guarded accesses raise no signal here";
  }
};

using SignalGuardThreads = SignalGuardDeathTest;

// Runs `body` in a process without handlers, such as those of a sanitizer.
template <class Body>
void Isolated(Body body) {
  SetDefault(SIGSEGV);
  SetDefault(SIGBUS);
  body(Holes());
  _exit(testing::Test::HasFailure() ? 1 : 0);
}

#define EXPECT_ISOLATED(how, ...) \
  EXPECT_EXIT(Isolated([]([[maybe_unused]] const Holes& holes) __VA_ARGS__), how, "")
#define HOLDS testing::ExitedWithCode(0)
#define REACHES_HANDLER testing::ExitedWithCode(kHandled)

TEST_F(SignalGuardDeathTest, InstallIsIdempotent) {
  EXPECT_ISOLATED(HOLDS, {
    SignalGuard::Install();
    SignalGuard::Install();
    EXPECT_FALSE(SignalGuard::EnsureInstalled());
    ExpectGuarded(holes);
    SignalGuard::Uninstall();
    struct sigaction current;
    CHECK(sigaction(SIGSEGV, nullptr, &current) == 0);
    EXPECT_EQ(current.sa_handler, SIG_DFL);
    CHECK(sigaction(SIGBUS, nullptr, &current) == 0);
    EXPECT_EQ(current.sa_handler, SIG_DFL);
  });
}

TEST_F(SignalGuardDeathTest, AFaultOfTheProgramStillKillsIt) {
  EXPECT_ISOLATED(testing::KilledBySignal(SIGSEGV), {
    SignalGuard::Install();
    ExpectGuarded(holes);
    Touch(holes.protected_page());
  });
  EXPECT_ISOLATED(testing::KilledBySignal(SIGBUS), {
    SignalGuard::Install();
    ExpectGuarded(holes);
    Touch(holes.truncated_page());
  });
}

TEST_F(SignalGuardDeathTest, AnEarlierHandlerGetsOnlyFaultsOfTheProgram) {
  EXPECT_ISOLATED(REACHES_HANDLER, {
    Set(SIGSEGV, Exit);
    SignalGuard::Install();
    ExpectGuarded(holes);
    Touch(holes.protected_page());
  });
  EXPECT_ISOLATED(REACHES_HANDLER, {
    Set(SIGBUS, Exit);
    SignalGuard::Install();
    ExpectGuarded(holes);
    Touch(holes.truncated_page());
  });
}

TEST_F(SignalGuardDeathTest, ALaterHandlerThatChainsNeedsNoReinstallation) {
  EXPECT_ISOLATED(REACHES_HANDLER, {
    Set(SIGSEGV, Exit);
    SignalGuard::Install();
    Set(SIGSEGV, ChainToSaved, &saved);
    ExpectGuarded(holes);
    EXPECT_GT(handled, 0);
    Touch(holes.protected_page());
  });
}

TEST_F(SignalGuardDeathTest, ALaterHandlerThatChainsCanRunAfterTheGuard) {
  EXPECT_ISOLATED(REACHES_HANDLER, {
    Set(SIGSEGV, Exit);
    SignalGuard::Install();
    Set(SIGSEGV, ChainToSaved, &saved);
    EXPECT_TRUE(SignalGuard::EnsureInstalled());
    EXPECT_FALSE(SignalGuard::EnsureInstalled());
    ExpectGuarded(holes);
    if (handled != 0) _exit(2);
    Touch(holes.protected_page());
  });
}

TEST_F(SignalGuardDeathTest, ALaterHandlerThatDoesNotChainIsMovedAfterTheGuard) {
  EXPECT_ISOLATED(REACHES_HANDLER, {
    SignalGuard::Install();
    Set(SIGSEGV, Exit);
    EXPECT_TRUE(SignalGuard::EnsureInstalled());
    ExpectGuarded(holes);
    Touch(holes.protected_page());
  });
}

TEST_F(SignalGuardDeathTest, UninstallRestoresTheHandler) {
  EXPECT_ISOLATED(REACHES_HANDLER, {
    Set(SIGSEGV, Exit);
    SignalGuard::Install();
    SignalGuard::Uninstall();
    struct sigaction current;
    CHECK(sigaction(SIGSEGV, nullptr, &current) == 0);
    if (current.sa_sigaction != Exit) _exit(2);
    Touch(holes.protected_page());
  });
}

TEST_F(SignalGuardDeathTest, ASentSignalDuringACopyIsNotAFault) {
  EXPECT_ISOLATED(REACHES_HANDLER, {
    Set(SIGSEGV, Exit);
    SignalGuard::Install();
    std::vector<std::byte> from(1 << 22);
    std::vector<std::byte> to(from.size());
    std::thread sender([] {
      usleep(1000);
      kill(getpid(), SIGSEGV);
    });
    for (;;) {
      CHECK(GuardedCopy(to.data(), from.data(), from.size()).copied == from.size());
    }
  });
}

TEST_F(SignalGuardDeathTest, TheFaultServerIsCalledFirstAndTheInstructionRetried) {
  EXPECT_ISOLATED(REACHES_HANDLER, {
    Set(SIGSEGV, Exit);
    SignalGuard::InstallWith([](const siginfo_t& info, const ucontext_t&) {
      // The server repairs the first fault and refuses the others.
      if (handled++ > 0) return false;
      return mprotect(info.si_addr, PagesForTest::kPage, PROT_READ | PROT_WRITE) == 0;
    });
    Touch(holes.protected_page());
    if (handled != 1) _exit(2);
    CHECK(mprotect(holes.protected_page(), PagesForTest::kPage, PROT_NONE) == 0);
    if (!GuardCatches(holes.protected_page()) || handled == 1) _exit(3);
    const int before = handled;
    if (!GuardCatches(holes.truncated_page()) || handled != before) _exit(4);
    Touch(holes.protected_page());
  });
}

alignas(16) char alternate_stack[1 << 17];

TEST_F(SignalGuardDeathTest, HandlesFaultsOnAnAlternateStack) {
  EXPECT_ISOLATED(HOLDS, {
    const stack_t stack = {
        .ss_sp = alternate_stack, .ss_flags = 0, .ss_size = sizeof alternate_stack};
    CHECK(sigaltstack(&stack, nullptr) == 0);
    SignalGuard::Install();
    for (int i = 0; i < 100; ++i) ExpectGuarded(holes);
  });
}

TEST_F(SignalGuardDeathTest, PreservesErrno) {
  EXPECT_ISOLATED(HOLDS, {
    SignalGuard::Install();
    errno = E2BIG;
    const bool caught = GuardCatches(holes.protected_page());
    EXPECT_EQ(errno, E2BIG);
    EXPECT_TRUE(caught);
  });
}

TEST_F(SignalGuardDeathTest, AThreadThatBlocksAllSignalsCanUnblockTheGuards) {
  EXPECT_ISOLATED(HOLDS, {
    SignalGuard::Install();
    sigset_t all;
    sigfillset(&all);
    CHECK(pthread_sigmask(SIG_SETMASK, &all, nullptr) == 0);
    SignalGuard::UnblockInThisThread();
    ExpectGuarded(holes);
    CHECK(pthread_sigmask(SIG_SETMASK, nullptr, &all) == 0);
    EXPECT_TRUE(sigismember(&all, SIGTERM));
  });
}

TEST_F(SignalGuardThreads, OneOfManyThreadsInstalls) {
  EXPECT_ISOLATED(HOLDS, {
    std::atomic<int> ready = 0;
    std::atomic<int> installed = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        ++ready;
        while (ready < 4) std::this_thread::yield();
        if (SignalGuard::EnsureInstalled()) ++installed;
        for (int round = 0; round < 100; ++round) ExpectGuarded(holes);
      });
    }
    for (std::thread& thread : threads) thread.join();
    // One thread installs the handler of each signal.
    EXPECT_GE(installed, 1);
    EXPECT_LE(installed, 2);
  });
}

// A garbage collector that protects its heap and unprotects it page by page on access.
const PagesForTest* heap = nullptr;

void Collect(int, siginfo_t*, void*) {
  ++handled;
  heap->Protect(0, PROT_READ | PROT_WRITE);
}

TEST_F(SignalGuardThreads, HandlersBeforeAndAfterTheGuardServeTheirThreads) {
  EXPECT_ISOLATED(HOLDS, {
    const PagesForTest pages(1);
    heap = &pages;
    Set(SIGSEGV, Collect);
    SignalGuard::Install();
    std::atomic<bool> stop = false;
    std::thread copier([&] {
      while (!stop) ExpectGuarded(holes);
    });
    std::thread progress_thread([&] {
      while (!stop) EXPECT_FALSE(SignalGuard::EnsureInstalled());
    });
    for (int i = 0; i < 2000; ++i) {
      pages.Protect(0, PROT_NONE);
      Touch(pages.data());
    }
    stop = true;
    copier.join();
    progress_thread.join();
    EXPECT_EQ(handled, 2000);
  });
}

// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace
}  // namespace verbena::memory
