#include "managed/takeover.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "managed/program_memory.h"
#include "managed/uffd_source.h"
#include "memory/copy/signal_guard.h"
#include "tests/support/arena_fixture.h"

namespace verbena::managed {
namespace {

constexpr uint64_t kPage = 4096, kPages = 512, kSize = kPages * kPage;
constexpr uint64_t kBudget = kSize / 8;

// Private memory of a program, with a word on each page; and an adapter that does nothing.
class TakeoverThreads : public testing::Test {
 protected:
  TakeoverThreads() {
    void* const place =
        mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(place, MAP_FAILED);
    memory_ = {static_cast<std::byte*>(place), kSize};
  }
  ~TakeoverThreads() override {
    adoption_.reset();
    munmap(memory_.data(), kSize);
  }
  void SetUp() override {
    memory::SignalGuard::Install();
    if (auto source = OpenForSystemCalls(); !source) GTEST_SKIP() << source.error().text;
  }

  std::atomic_ref<uint64_t> Word(uint64_t page) {
    return std::atomic_ref(*reinterpret_cast<uint64_t*>(memory_.data() + page * kPage));
  }
  void FillAll() {
    for (uint64_t page = 0; page < kPages; ++page) Word(page) = page + 1;
  }
  void ExpectAll() {
    for (uint64_t page = 0; page < kPages; ++page) ASSERT_EQ(Word(page), page + 1) << page;
  }

  void Prepare() {
    ArenaOptions options{.takes_over = memory_, .budget = kBudget};
    options.swap = testing::TempDir();
    options.compress = false;
    options.paging.patience = Milliseconds(50);
    options.paging.retry_first = options.paging.retry_max = Milliseconds(1);
    options.now = &Now;
    options.wrap_swap_file = [this](std::unique_ptr<SwapFile> file) {
      return std::make_unique<TroubledSwapFile>(std::move(file), trouble_);
    };
    auto takeover =
        Takeover::Prepare(options, {.on_ready = [](uint64_t, const Answer&) {},
                                    .unmap_adapter = [](auto) {},
                                    .on_store = {},
                                    .on_gone =
                                        [this](const std::byte* first, const std::byte* last) {
                                          gone_bytes_ += static_cast<uint64_t>(last - first) + 1;
                                        }});
    ASSERT_TRUE(takeover) << takeover.error().text;
    adoption_ = std::move(*takeover);
  }
  void Take() {
    ASSERT_NO_FATAL_FAILURE(Prepare());
    const auto taken = adoption_->Take();
    ASSERT_TRUE(taken) << taken.error().text;
  }
  std::string MappingName() {
    return FindMapping(reinterpret_cast<uintptr_t>(memory_.data()))->name;
  }
  void AwaitGone(uint64_t bytes) {
    for (const Time end = Now() + Seconds(10); gone_bytes_ < bytes && Now() < end;) usleep(100);
    EXPECT_EQ(gone_bytes_, bytes);
  }

  std::span<std::byte> memory_;
  const std::shared_ptr<SwapTrouble> trouble_ = std::make_shared<SwapTrouble>();
  std::atomic<uint64_t> gone_bytes_ = 0;
  std::unique_ptr<Takeover> adoption_;
};

TEST_F(TakeoverThreads, TheBytesAreKeptDuringTheTakeoverAndAfterwards) {
  FillAll();
  Take();
  EXPECT_LE(adoption_->arena().resident_bytes(), kBudget);
  EXPECT_NE(MappingName().find("verbena-managed"), std::string::npos);
  ExpectAll();
  Word(7) = 70;
  Word(7 + kPages / 2) = 71;
  EXPECT_LE(adoption_->arena().resident_bytes(), kBudget);
  EXPECT_EQ(adoption_->GiveBack(), 0u);
  EXPECT_EQ(MappingName(), "");
  EXPECT_EQ(Word(7), 70u);
  EXPECT_EQ(Word(7 + kPages / 2), 71u);
  Word(7) = 8;
  Word(7 + kPages / 2) = 8 + kPages / 2;
  ExpectAll();
}

TEST_F(TakeoverThreads, UntouchedMemoryUsesNoRoom) {
  Word(3) = 4;
  Take();
  EXPECT_LE(adoption_->arena().resident_bytes(), kPage);
  EXPECT_EQ(Word(2), 0u);
  EXPECT_EQ(Word(3), 4u);
  adoption_->GiveBack();
  std::vector<unsigned char> in_memory(kPages);
  ASSERT_EQ(mincore(memory_.data(), kSize, in_memory.data()), 0);
  EXPECT_EQ(in_memory[100] & 1, 0);
  EXPECT_EQ(Word(3), 4u);
}

// Each thread has words of its own and knows what it wrote last.
TEST_F(TakeoverThreads, NoWriteIsLostDuringTakeoverAndReturn) {
  constexpr uint64_t kThreads = 3;
  std::atomic<bool> stops = false;
  std::atomic<uint64_t> writes = 0;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t round = 1; !stops; ++round) {
        for (uint64_t page = t; page < kPages && !stops; page += kThreads) {
          const uint64_t before = Word(page).fetch_add(1);
          ASSERT_TRUE(before == round - 1 || before == round) << page;
          ++writes;
        }
      }
    });
  }
  for (int i = 0; i < 5; ++i) {
    ASSERT_NO_FATAL_FAILURE(Take());
    const uint64_t before = writes;
    for (const Time end = Now() + Seconds(10); writes < before + 300 && Now() < end;) usleep(100);
    EXPECT_GE(writes, before + 300) << "threads run during the takeover";
    EXPECT_EQ(adoption_->GiveBack(), 0u);
  }
  stops = true;
  for (std::thread& thread : threads) thread.join();
  uint64_t sum = 0;
  for (uint64_t page = 0; page < kPages; ++page) sum += Word(page);
  EXPECT_EQ(sum, writes);
}

TEST_F(TakeoverThreads, SystemCallsWaitLikeAnyAccess) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  std::atomic<bool> stops = false;
  std::atomic<uint64_t> failures = 0, calls = 0;
  std::thread program([&] {
    for (uint64_t i = 0; !stops; ++i) {
      std::byte* const at = memory_.data() + i % kPages * kPage;
      failures += write(ends[1], at, 8) != 8;
      failures += read(ends[0], at, 8) != 8;
      ++calls;
    }
  });
  for (int i = 0; i < 5; ++i) {
    ASSERT_NO_FATAL_FAILURE(Take());
    const uint64_t before = calls;
    for (const Time end = Now() + Seconds(10); calls < before + kPages && Now() < end;) usleep(100);
    adoption_->GiveBack();
  }
  stops = true;
  program.join();
  EXPECT_EQ(failures, 0u);
  for (const int end : ends) close(end);
}

TEST_F(TakeoverThreads, ContentsThatDoNotFitTheStoreAreNotTakenOver) {
  FillAll();
  trouble_->is_full = true;
  Prepare();
  const auto taken = adoption_->Take();
  ASSERT_FALSE(taken);
  EXPECT_NE(taken.error().text.find("swap file"), std::string::npos);
  EXPECT_EQ(MappingName(), "");
  ExpectAll();
  adoption_.reset();
  ExpectAll();
}

TEST_F(TakeoverThreads, MemoryThatCannotBeMovedIsUnchanged) {
  FillAll();
  const UffdSource another = UffdSource::Open();
  ASSERT_TRUE(AskFor(another, 0));
  ASSERT_TRUE(Watch(another, memory_, UFFDIO_REGISTER_MODE_WP));
  Prepare();
  EXPECT_FALSE(adoption_->Take());
  adoption_.reset();
  ExpectAll();
}

TEST_F(TakeoverThreads, AStoreThatFillsUpDuringTheTakeoverLosesNothing) {
  FillAll();
  Take();
  trouble_->is_full = true;
  for (uint64_t page = 0; page < 8; ++page) Word(page) = page + 1;
  EXPECT_EQ(adoption_->GiveBack(), 0u);
  ExpectAll();
}

TEST_F(TakeoverThreads, LostContentsAreNeverZeros) {
  FillAll();
  Take();
  trouble_->lying_reads = 1;
  EXPECT_EQ(adoption_->GiveBack(), kPage);
  uint64_t lost = 0;
  for (uint64_t page = 0; page < kPages; ++page) {
    uint64_t value = 0;
    const auto copied = memory::GuardedCopy(&value, memory_.data() + page * kPage, sizeof value);
    lost += copied.fault.has_value();
    EXPECT_EQ(value, copied.fault ? 0 : page + 1);
  }
  EXPECT_EQ(lost, 1u);
}

TEST_F(TakeoverThreads, UnmappedMemoryIsNotTouchedAgain) {
  FillAll();
  Take();
  std::byte* const middle = memory_.data() + 100 * kPage;
  ASSERT_EQ(munmap(middle, 50 * kPage), 0);
  AwaitGone(50 * kPage);
  EXPECT_TRUE(adoption_->arena().IsGone(120 * kPage));
  EXPECT_FALSE(adoption_->arena().IsGone(150 * kPage));
  // Another mapping takes the addresses.
  ASSERT_EQ(mmap(middle, 50 * kPage, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
            middle);
  for (uint64_t page = 100; page < 150; ++page) Word(page) = page + 1;
  ExpectAll();  // the other granules are paged in and out
  ExpectAll();
  EXPECT_EQ(adoption_->GiveBack(), 0u);
  ExpectAll();
}

TEST_F(TakeoverThreads, AllOfTheMemoryMayBeUnmapped) {
  FillAll();
  Take();
  ASSERT_EQ(munmap(memory_.data(), kSize), 0);
  AwaitGone(kSize);
  void* const again = mmap(memory_.data(), kSize, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_EQ(again, memory_.data());
  FillAll();
  EXPECT_EQ(adoption_->GiveBack(), 0u);
  ExpectAll();
}

// No pager serves the new address: an access there must fail rather than find zeros.
TEST_F(TakeoverThreads, MovedMemoryCannotBeReadAtItsNewAddress) {
  FillAll();
  Take();
  void* const moved = mremap(memory_.data(), kPage, kPage, MREMAP_MAYMOVE | MREMAP_FIXED,
                             mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(moved, MAP_FAILED);
  AwaitGone(kPage);
  uint64_t value = 0;
  EXPECT_TRUE(memory::GuardedCopy(&value, moved, sizeof value).fault.has_value());
  munmap(moved, kPage);
  EXPECT_EQ(Word(1), 2u);
}

// Sanitizers replace mlock of the C library by a function that does nothing.
int64_t Lock(std::byte* first, uint64_t length) { return syscall(SYS_mlock, first, length); }

TEST_F(TakeoverThreads, MemoryThatTheProgramLocksIsPagedInAndOut) {
  FillAll();
  Take();
  if (Lock(memory_.data(), 16 * kPage) != 0) GTEST_SKIP() << "may lock nothing";
  for (int i = 0; i < 3; ++i) {
    for (uint64_t page = 0; page < kPages; ++page) Word(page) += 1;
  }
  for (uint64_t page = 0; page < kPages; ++page) ASSERT_EQ(Word(page), page + 4) << page;
  EXPECT_EQ(adoption_->GiveBack(), 0u);
  for (uint64_t page = 0; page < kPages; ++page) ASSERT_EQ(Word(page), page + 4) << page;
}

TEST_F(TakeoverThreads, DestructionReturnsTheMemory) {
  FillAll();
  Take();
  adoption_.reset();
  EXPECT_EQ(MappingName(), "");
  ExpectAll();
}

TEST_F(TakeoverThreads, ReturnedMemoryIsAtItsAddress) {
  FillAll();
  for (int i = 0; i < 3; ++i) {
    ASSERT_NO_FATAL_FAILURE(Take());
    adoption_->GiveBack();
  }
  ExpectAll();
}

}  // namespace
}  // namespace verbena::managed
