#include "verbs/adapter_table.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/verbs_world.h"

namespace verbena::verbs {
namespace {

using adapter::Adapter;

class AdapterTableTest : public testing::Test {
 protected:
  std::shared_ptr<Adapter> Open(const Options& options) { return *table_.Open(options); }

  static Options Traced() {
    Options options = SharedAdapterOptions();
    options.trace = testing::TempDir() + "/adapter_table.pcapng";
    return options;
  }
  static Options WithBudget(uint64_t bytes) {
    Options options = SharedAdapterOptions();
    options.memory_budget = bytes;
    return options;
  }

  AdapterTable table_{*adapter::ForkGuard::Make(), nullptr};
};

TEST_F(AdapterTableTest, EqualOptionsShareOneAdapter) {
  const auto a = Open(SharedAdapterOptions());
  EXPECT_EQ(Open(SharedAdapterOptions()), a);
  EXPECT_NE(Open(Traced()), a);
}

TEST_F(AdapterTableTest, ADedicatedAdapterIsNotShared) {
  const auto shared = Open(SharedAdapterOptions());
  const auto a = Open(VerbsTestOptions());
  const auto b = Open(VerbsTestOptions());
  EXPECT_NE(a, b);
  EXPECT_NE(a, shared);
  EXPECT_EQ(Open(SharedAdapterOptions()), shared);
}

TEST_F(AdapterTableTest, EndsWithItsLastContext) {
  Options strict = SharedAdapterOptions();
  strict.strict = true;
  auto a = Open(strict);
  auto b = Open(strict);
  const std::weak_ptr<Adapter> seen = a;
  a.reset();
  EXPECT_FALSE(seen.expired());
  b.reset();
  EXPECT_TRUE(seen.expired());
  // The only port of strict mode is free again.
  EXPECT_TRUE(table_.Open(strict).has_value());
}

TEST_F(AdapterTableTest, AFailedOpenLeavesNoEntry) {
  Options options = SharedAdapterOptions();
  options.trace = "/nonexistent/trace";
  for (int i = 0; i < 2; ++i) {
    const auto opened = table_.Open(options);
    ASSERT_FALSE(opened.has_value());
    EXPECT_EQ(opened.error().os_error, ENOENT);
  }
}

TEST_F(AdapterTableTest, AProcessHasOneBudget) {
  constexpr uint64_t kBytes = uint64_t{1} << 24;
  auto budget = Open(WithBudget(kBytes));
  EXPECT_EQ(Open(WithBudget(kBytes)), budget);
  EXPECT_EQ(table_.Open(WithBudget(2 * kBytes)).error().code, ErrorCode::kInUse);
  Options dedicated = WithBudget(kBytes);
  dedicated.dedicated_adapter = true;
  EXPECT_EQ(table_.Open(dedicated).error().code, ErrorCode::kInUse);
  EXPECT_TRUE(table_.Open(SharedAdapterOptions()).has_value()) << "an adapter without a budget";
  budget.reset();
  EXPECT_TRUE(table_.Open(dedicated).has_value());
}

TEST_F(AdapterTableTest, CountsASharedAdapterOnceAlsoAfterItsEnd) {
  Options options = SharedAdapterOptions();
  options.events_max = 1;
  auto a = Open(options);
  auto b = Open(options);
  const auto dedicated = Open(VerbsTestOptions());
  adapter::EventQueue* const events = *a->CreateEventQueue();
  const adapter::Event event{.type = AsyncEventType::kGidChange};
  for (int i = 0; i < 4; ++i) events->Raise(event);
  EXPECT_EQ(table_.Query().events_lost, 3U);
  a.reset();
  EXPECT_EQ(table_.Query().events_lost, 3U);
  b.reset();
  EXPECT_EQ(table_.Query().events_lost, 3U);
  const auto c = Open(options);
  EXPECT_EQ(table_.Query().events_lost, 3U);
}

TEST_F(AdapterTableTest, AChildGetsATableAndAnAdapterOfItsOwn) {
  AdapterTable* const parents = *AdapterTable::OfProcess();
  EXPECT_EQ(*AdapterTable::OfProcess(), parents);
  auto open = *parents->Open(SharedAdapterOptions());
  const pid_t child = fork();
  if (child == 0) {
    const auto own = AdapterTable::OfProcess();
    bool right = own.has_value() && *own != parents;
    const auto opened = (*own)->Open(SharedAdapterOptions());
    right &= opened.has_value() && *opened != open && !(*opened)->is_forked();
    open.reset();
    _exit(right ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(*parents->Open(SharedAdapterOptions()), open);
}

// Other threads of the parent may hold the lock of the table at the moment of the fork.
TEST_F(AdapterTableTest, AChildOpensWhileItsParentOpensAndCloses) {
  std::atomic<bool> stops = false;
  std::thread busy([&] {
    while (!stops) static_cast<void>((*AdapterTable::OfProcess())->Open(SharedAdapterOptions()));
  });
  // The allocator of a sanitizer may be locked, too, and then the child waits for it; that happens
  // once in a hundred times, while the table is locked nearly always.
  int hung = 0;
  for (int i = 0; i < 10; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(5);
      const auto own = AdapterTable::OfProcess();
      _exit(own && (*own)->Open(SharedAdapterOptions()) ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    const bool hangs = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    hung += hangs ? 1 : 0;
    EXPECT_TRUE(hangs || status == 0) << status;
  }
  EXPECT_LE(hung, 2);
  stops = true;
  busy.join();
}

// The lock of the parent's table may be held by a thread that does not exist in the child.
TEST_F(AdapterTableTest, AChildThatEndsItsCopiesDoesNotWaitForTheLockOfItsParent) {
  AdapterTable* const parents = *AdapterTable::OfProcess();
  auto open = *parents->Open(SharedAdapterOptions());
  std::atomic<bool> stops = false;
  std::thread busy([&] {
    while (!stops) static_cast<void>(parents->Open(SharedAdapterOptions()));
  });
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(5);
      open.reset();
      _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    if (status != 0) break;
  }
  stops = true;
  busy.join();
}

// In strict mode there is one port: if a thread did not wait for an adapter that is being opened or
// ends, its own open would fail.
TEST(AdapterTableThreads, OpenAndCloseConcurrently) {
  AdapterTable table{*adapter::ForkGuard::Make(), nullptr};
  Options options = SharedAdapterOptions();
  options.strict = true;
  std::atomic<int> failures = 0;
  const auto work = [&] {
    for (int i = 0; i < 50; ++i) {
      const auto opened = table.Open(options);
      if (!opened || !(*opened)->AllocatePd() || !(*opened)->Query()) ++failures;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace verbena::verbs
