// What the kernel reports, on memory of this process, with a backend that registers fixed pages.

#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "base/page_events.h"
#include "tests/support/cache_ways.h"
#include "tests/support/fake_backend.h"
#include "verbena/registration_cache.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

namespace verbena {
namespace {

constexpr size_t kBytes = 16'384;

class CacheEventsThreads : public testing::TestWithParam<Keeping> {
 protected:
  [[nodiscard]] static bool is_off() { return GetParam() == Keeping::kNothing; }
  void SetUp() override {
    std::string why_not;
    if (PageEvents::Open(PageEvents::Scope::kPrivate, why_not) == nullptr) {
      GTEST_SKIP() << "no userfaultfd here: " << why_not;
    }
    state_->follows_mappings = false;
    Make();
    memory_ = Map(nullptr, MAP_PRIVATE | MAP_ANONYMOUS);
    std::memset(memory_, 1, kBytes);
  }
  void TearDown() override {
    cache_ = {};
    EXPECT_EQ(state_->count(), 0U);
    if (memory_ != nullptr) munmap(memory_, kBytes);
  }

  void Make(const CacheOptions& options = {}) {
    cache_ =
        RegistrationCache::Create(std::make_unique<FakeBackend>(state_), With(GetParam(), options))
            .value();
  }
  static char* Map(void* at, int flags) {
    void* const mapped = mmap(at, kBytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    EXPECT_NE(mapped, MAP_FAILED);
    return static_cast<char*>(mapped);
  }
  char* MapAgain() { return Map(memory_, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED); }
  Key Acquire() { return cache_.Acquire(memory_, kBytes, Access::kLocal).value().l_key(); }
  // The key once the registration is kept, if any is: nothing is kept while the reader of the
  // events is at an event, which lasts for a time slice if it is preempted there.
  Key AcquireKept() {
    for (int i = 0; i < 1'000; ++i) {
      const Key key = Acquire();
      if (is_off() || Acquire() == key) return key;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ADD_FAILURE() << "not kept";
    return {};
  }
  // Whether a change of the memory makes the next acquisition register it again, every time.
  template <class Change>
  void ExpectNoticed(Change change) {
    for (int i = 0; i < 50 && !HasFailure(); ++i) {
      const Key before = AcquireKept();
      EXPECT_EQ(state_->count(), is_off() ? 0U : 1U);
      change();
      EXPECT_NE(Acquire(), before) << "a stale hit";
    }
  }

  std::shared_ptr<FakeBackend::State> state_ = std::make_shared<FakeBackend::State>();
  RegistrationCache cache_;
  char* memory_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(Caches, CacheEventsThreads, BothWays(), NameOfWay);

TEST_P(CacheEventsThreads, Munmap) {
  ExpectNoticed([&] {
    munmap(memory_, kBytes);
    MapAgain();
  });
}

TEST_P(CacheEventsThreads, MunmapOfOnePage) {
  ExpectNoticed([&] {
    munmap(memory_ + 4'096, 4'096);
    MapAgain();
  });
}

TEST_P(CacheEventsThreads, MmapOverIt) {
  ExpectNoticed([&] { MapAgain(); });
}

TEST_P(CacheEventsThreads, MadviseDontneed) {
  ExpectNoticed([&] { madvise(memory_, 4'096, MADV_DONTNEED); });
}

TEST_P(CacheEventsThreads, MremapAwayAndBack) {
  ExpectNoticed([&] {
    void* const there = mremap(memory_, kBytes, 2 * kBytes, MREMAP_MAYMOVE);
    ASSERT_NE(there, MAP_FAILED);
    if (there == memory_) {  // it has grown in place
      munmap(memory_ + kBytes, kBytes);
      MapAgain();
    } else {
      munmap(there, 2 * kBytes);
      MapAgain();
    }
  });
}

TEST_P(CacheEventsThreads, MremapThatLeavesTheMapping) {
  ExpectNoticed([&] {
    // Not mremap, which passes an address only with MREMAP_FIXED.
    const long there =
        syscall(SYS_mremap, memory_, kBytes, kBytes, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, nullptr);
    ASSERT_GT(there, 0);
    munmap(reinterpret_cast<void*>(there), kBytes);
  });
}

TEST_P(CacheEventsThreads, Brk) {
  char* const base = static_cast<char*>(sbrk(0));
  if (sbrk(kBytes + 4'096) == reinterpret_cast<void*>(-1)) GTEST_SKIP() << "no room for brk";
  auto* const heap =
      reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(base) + 4'095) & ~4'095UL);
  for (int i = 0; i < 20; ++i) {
    const Key before = cache_.Acquire(heap, 4'096, Access::kLocal).value().l_key();
    ASSERT_EQ(brk(base), 0);
    ASSERT_EQ(brk(base + kBytes + 4'096), 0);
    ASSERT_NE(cache_.Acquire(heap, 4'096, Access::kLocal).value().l_key(), before);
  }
  brk(base);
}

// Their pages stay the same.
TEST_P(CacheEventsThreads, MprotectChangesNothing) {
  const Key before = AcquireKept();
  mprotect(memory_, kBytes, PROT_READ);
  mprotect(memory_, kBytes, PROT_READ | PROT_WRITE);
  EXPECT_EQ(Acquire() == before, !is_off());
}

// Truncation and shmdt of shared memory are not reported: it is not kept.
TEST_P(CacheEventsThreads, SharedMemoryIsNotKept) {
  char* const shared = Map(nullptr, MAP_SHARED | MAP_ANONYMOUS);
  static_cast<void>(cache_.Acquire(shared, kBytes, Access::kLocal).value());
  EXPECT_EQ(state_->count(), 0U);
  munmap(shared, kBytes);
  const int id = shmget(IPC_PRIVATE, kBytes, 0600);
  ASSERT_GE(id, 0);
  void* const attached = shmat(id, nullptr, 0);
  shmctl(id, IPC_RMID, nullptr);
  static_cast<void>(cache_.Acquire(attached, kBytes, Access::kLocal).value());
  EXPECT_EQ(state_->count(), 0U);
  shmdt(attached);
}

// Holds the reader back before the cache hears of an event, but not the thread of the test.
class HeldReader final : public MemoryListener {
 public:
  void OnReading() override {
    while (holds && std::this_thread::get_id() != tester_) std::this_thread::yield();
  }
  void OnRead() override {}
  void OnGivenUp(uint64_t /*first*/, uint64_t /*last*/) override {}

  std::atomic<bool> holds = false;

 private:
  const std::thread::id tester_ = std::this_thread::get_id();
};

// The addresses are free before the munmap is reported: another thread can map memory there.
class UnreportedMunmapThreads : public CacheEventsThreads {
 protected:
  // The key of the memory that another thread maps while a munmap is under way.
  Key AcquireNewMemory(const CacheOptions& options, Key& before) {
    std::string why_not;
    events_ = PageEvents::Open(PageEvents::Scope::kPrivate, why_not);
    EXPECT_TRUE(events_->Add(reader_));
    state_->events = events_.get();
    Make(options);
    before = AcquireKept();
    reader_.holds = true;
    std::thread unmapper([&] { munmap(memory_, kBytes); });
    // Memory that is not kept is not watched: its munmap is not reported, and does not wait.
    if (is_off()) unmapper.join();
    while (!is_off() && !events_->IsPending()) std::this_thread::yield();
    void* const mapped = mmap(memory_, kBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    EXPECT_EQ(mapped, memory_) << "the munmap has not returned";
    const Key key = Acquire();
    reader_.holds = false;
    if (unmapper.joinable()) unmapper.join();
    EXPECT_FALSE(events_->IsPending());
    return key;
  }
  void TearDown() override {
    CacheEventsThreads::TearDown();
    if (events_ != nullptr) events_->Remove(reader_);
  }

  HeldReader reader_;
  std::unique_ptr<PageEvents> events_;
};
INSTANTIATE_TEST_SUITE_P(Caches, UnreportedMunmapThreads, BothWays(), NameOfWay);

TEST_P(UnreportedMunmapThreads, MemoryThatAnotherThreadMapsThereIsRegisteredAnew) {
  Key before;
  EXPECT_NE(AcquireNewMemory({}, before), before) << "a stale hit";
}

// A thread that acquires does not wait until the reader gets to run: it reads the event itself.
TEST_P(UnreportedMunmapThreads, TheThreadThatAcquiresReadsTheEvent) {
  Key before;
  const Key after = AcquireNewMemory({}, before);
  EXPECT_EQ(Acquire() == after, !is_off()) << "not kept";
}

TEST_P(UnreportedMunmapThreads, WithoutTheCheckThatIsTheProgramsConcern) {
  Key before;
  const Key after = AcquireNewMemory({.checks_pending_events = false}, before);
  EXPECT_EQ(after == before, !is_off());
}

// Threads that free memory while others acquire, as a program does: the backend allocates and frees
// meanwhile, and nothing may wait for the reader of the events in vain.
TEST_P(CacheEventsThreads, NothingWaitsForEver) {
  std::atomic<bool> stops = false;
  std::thread freer([&] {
    while (!stops) {
      char* const block = Map(nullptr, MAP_PRIVATE | MAP_ANONYMOUS);
      block[0] = 1;
      static_cast<void>(cache_.Acquire(block, kBytes, Access::kLocal));
      munmap(block, kBytes);
      std::string text(200'000, 'x');  // by mmap
      static_cast<void>(cache_.Acquire(text.data(), text.size(), Access::kLocalRead));
    }
  });
  for (int i = 0; i < 2'000; ++i) {
    ASSERT_TRUE(cache_.Acquire(memory_, kBytes, Access::kLocal));
    if (i % 16 == 0) madvise(memory_, 4'096, MADV_DONTNEED);
  }
  stops = true;
  freer.join();
}

}  // namespace
}  // namespace verbena
