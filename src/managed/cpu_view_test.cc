#include "managed/cpu_view.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "managed/memory_file.h"
#include "memory/copy/guarded_copy.h"

// One suite for both views: the pager and the program can rely on the same rules, however accesses
// are caught.

namespace verbena::managed {
namespace {

constexpr uint32_t kGranules = 64;
constexpr PageShift kGranule(13);  // more than a page, to test runs of pages

class CpuViewThreads : public testing::TestWithParam<CpuViewKind> {
 protected:
  void SetUp() override {
    memory::SignalGuard::Install();
    memory_ = std::move(MemoryFile::Make(kGranules * kGranule.bytes(), kGranule).value());
    auto view = MakeCpuView(GetParam(), memory_->cpu_view(), kGranule);
    if (!view && GetParam() == CpuViewKind::kUserfault) GTEST_SKIP() << view.error().text;
    view_ = std::move(view.value());
  }

  // The next fault; fails the test after ten seconds.
  CpuFault Await() {
    std::array<CpuFault, 1> fault;
    while (view_->TakeFaults(fault) == 0) {
      pollfd readable{.fd = view_->fd(), .events = POLLIN, .revents = 0};
      CHECK(poll(&readable, 1, 10'000) == 1);
    }
    return fault[0];
  }

  // Takes faults and answers them until `stops_` is set.
  std::thread Serve(std::function<void(const CpuFault&)> answer) {
    return std::thread([this, answer = std::move(answer)] {
      while (!stops_) {
        std::array<CpuFault, 8> faults;
        const size_t count = view_->TakeFaults(faults);
        for (size_t i = 0; i < count; ++i) answer(faults[i]);
        pollfd readable{.fd = view_->fd(), .events = POLLIN, .revents = 0};
        if (count == 0) poll(&readable, 1, 1);
      }
    });
  }

  // The last word of the granule in the CPU view: it is accessible only if all pages are mapped.
  uint64_t* CpuWord(uint32_t granule) const {
    return reinterpret_cast<uint64_t*>(memory_->cpu_view().data() +
                                       (granule + 1) * kGranule.bytes() - 8);
  }
  uint64_t* AdapterWord(uint32_t granule) const {
    return reinterpret_cast<uint64_t*>(memory_->Contents({granule, 1}).data() + kGranule.bytes() -
                                       8);
  }
  static uint64_t Read(const uint64_t* word) {
    return *static_cast<const volatile uint64_t*>(word);
  }
  static void Write(uint64_t* word, uint64_t value) {
    *static_cast<volatile uint64_t*>(word) = value;
  }

  std::unique_ptr<MemoryFile> memory_;
  std::unique_ptr<CpuView> view_;
  std::atomic<bool> stops_ = false;
};

TEST_P(CpuViewThreads, AReadWaitsUntilItSeesTheBytes) {
  *AdapterWord(3) = 42;
  std::atomic<bool> done = false;
  std::thread program([&] {
    EXPECT_EQ(Read(CpuWord(3)), 42u);
    done = true;
  });
  const CpuFault fault = Await();
  EXPECT_EQ(fault.granule, 3u);
  EXPECT_FALSE(fault.is_write);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(done);
  view_->Map({3, 1}, false);
  program.join();
}

TEST_P(CpuViewThreads, AWriteAfterAReadFaultsAgain) {
  memory_->MakeZero({5, 1});
  std::thread program([&] {
    EXPECT_EQ(Read(CpuWord(5)), 0u);
    Write(CpuWord(5), 7);
    EXPECT_EQ(Read(CpuWord(5)), 7u);
  });
  EXPECT_FALSE(Await().is_write);
  view_->Map({5, 1}, false);
  EXPECT_TRUE(Await().is_write);
  EXPECT_EQ(*AdapterWord(5), 0u);
  view_->Map({5, 1}, true);
  program.join();
  EXPECT_EQ(*AdapterWord(5), 7u);
}

TEST_P(CpuViewThreads, AWriteToAbsentPagesIsReportedAsAWrite) {
  memory_->MakeZero({5, 1});
  std::thread program([&] { Write(CpuWord(5), 7); });
  EXPECT_TRUE(Await().is_write);
  view_->Map({5, 1}, true);
  program.join();
}

TEST_P(CpuViewThreads, AGranuleMappedReadOnlyAgainFaultsOnTheNextWrite) {
  memory_->MakeZero({5, 1});
  view_->Map({5, 1}, true);
  Write(CpuWord(5), 7);
  view_->Map({5, 1}, false);
  EXPECT_EQ(Read(CpuWord(5)), 7u);
  std::thread program([&] { Write(CpuWord(5), 8); });
  EXPECT_TRUE(Await().is_write);
  EXPECT_EQ(*AdapterWord(5), 7u);
  view_->Map({5, 1}, true);
  program.join();
}

TEST_P(CpuViewThreads, AnUnmappedGranuleFaultsAgainAndKeepsItsContents) {
  memory_->MakeZero({0, kGranules});
  view_->Map({0, kGranules}, true);
  for (uint32_t i = 0; i < kGranules; ++i) Write(CpuWord(i), i);
  view_->Unmap({10, 20});
  EXPECT_EQ(Read(CpuWord(9)), 9u);
  EXPECT_EQ(Read(CpuWord(30)), 30u);
  std::thread program([&] { EXPECT_EQ(Read(CpuWord(29)), 29u); });
  EXPECT_EQ(Await().granule, 29u);
  view_->Map({10, 20}, true);
  program.join();
  for (uint32_t i = 0; i < kGranules; ++i) EXPECT_EQ(Read(CpuWord(i)), i);
}

TEST_P(CpuViewThreads, ContentsWrittenByTheAdapterAreVisible) {
  memory_->MakeZero({1, 1});
  view_->Map({1, 1}, true);
  Write(CpuWord(1), 1);
  view_->Unmap({1, 1});
  memory_->Drop({1, 1});
  std::thread program([&] { EXPECT_EQ(Read(CpuWord(1)), 99u); });
  EXPECT_EQ(Await().granule, 1u);
  *AdapterWord(1) = 99;
  memory_->Contents({1, 1})[0] = std::byte{1};
  view_->Map({1, 1}, false);
  program.join();
}

TEST_P(CpuViewThreads, AllThreadsThatWaitForAGranuleAreWoken) {
  memory_->MakeZero({7, 1});
  std::vector<std::thread> program;
  for (int i = 0; i < 8; ++i) program.emplace_back([&] { EXPECT_EQ(Read(CpuWord(7)), 0u); });
  EXPECT_EQ(Await().granule, 7u);
  view_->Map({7, 1}, false);
  for (std::thread& thread : program) thread.join();
}

TEST_P(CpuViewThreads, ManyThreadsAndAPagerThatUnmaps) {
  constexpr int kThreads = 4;
  constexpr int kEach = 2000;
  memory_->MakeZero({0, kGranules});
  Random pager_random(1);
  std::thread pager = Serve([&](const CpuFault& fault) {
    view_->Map({fault.granule, 1}, fault.is_write);
    view_->Unmap({static_cast<uint32_t>(pager_random.Below(kGranules - 4)), 4});
  });
  std::vector<std::thread> program;
  for (int t = 0; t < kThreads; ++t) {
    program.emplace_back([this, t] {
      Random random(static_cast<uint64_t>(t));
      for (int i = 0; i < kEach; ++i) {
        uint64_t* const word = CpuWord(static_cast<uint32_t>(random.Below(kGranules)));
        __atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
      }
    });
  }
  for (std::thread& thread : program) thread.join();
  stops_ = true;
  pager.join();
  uint64_t sum = 0;
  for (uint32_t i = 0; i < kGranules; ++i) sum += *AdapterWord(i);
  EXPECT_EQ(sum, uint64_t{kThreads} * kEach);
}

TEST_P(CpuViewThreads, ARefusedAccessRaisesASignal) {
  memory_->MakeZero({0, 8});
  std::thread pager = Serve([&](const CpuFault& fault) {
    if (fault.granule == 4) {
      view_->Refuse({4, 1});
    } else {
      view_->Map({fault.granule, 1}, true);
    }
  });
  // Guarded accesses turn the signal into a result.
  EXPECT_FALSE(memory::GuardedLoad64(CpuWord(4)));
  EXPECT_FALSE(memory::GuardedStore64(CpuWord(4), 1)) << "the second refusal needs no pager";
  EXPECT_TRUE(memory::GuardedLoad64(CpuWord(3)));
  EXPECT_TRUE(memory::GuardedLoad64(CpuWord(5)));
  stops_ = true;
  pager.join();
  view_->Map({4, 1}, true);
  EXPECT_TRUE(memory::GuardedStore64(CpuWord(4), 5)) << "a refusal ends with Map";
  EXPECT_EQ(*AdapterWord(4), 5u);
  view_->Refuse({4, 1});
  view_->Unmap({4, 1});
  std::thread program([&] { EXPECT_EQ(Read(CpuWord(4)), 5u); });
  EXPECT_EQ(Await().granule, 4u);
  view_->Map({4, 1}, false);
  program.join();
}

TEST_P(CpuViewThreads, StopRaisesASignalInWaitingThreads) {
  *AdapterWord(2) = 77;
  std::atomic<int> refused = 0;
  std::vector<std::thread> program;
  for (int i = 0; i < 4; ++i) {
    program.emplace_back([&] { refused += !memory::GuardedLoad64(CpuWord(2)); });
  }
  EXPECT_EQ(Await().granule, 2u);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  view_->Stop();
  for (std::thread& thread : program) thread.join();
  EXPECT_EQ(refused, 4);
  EXPECT_FALSE(memory::GuardedLoad64(CpuWord(3)));
}

TEST_P(CpuViewThreads, AHoleThatTheProgramPunchedShowsZeros) {
  memory_->MakeZero({6, 1});
  view_->Map({6, 1}, true);
  Write(CpuWord(6), 1);
  ASSERT_EQ(
      madvise(memory_->cpu_view().data() + 6 * kGranule.bytes(), kGranule.bytes(), MADV_REMOVE), 0);
  std::thread pager = Serve([&](const CpuFault& fault) {
    view_->Map({fault.granule, 1}, fault.is_write);
  });
  EXPECT_EQ(Read(CpuWord(6)), 0u);
  stops_ = true;
  pager.join();
}

TEST_P(CpuViewThreads, AThreadWokenWithoutAMappingFaultsAgain) {
  memory_->MakeZero({9, 1});
  std::thread program([&] { EXPECT_EQ(Read(CpuWord(9)), 0u); });
  EXPECT_EQ(Await().granule, 9u);
  view_->Wake({8, 3});
  EXPECT_EQ(Await().granule, 9u);
  view_->Map({9, 1}, false);
  program.join();
}

TEST_P(CpuViewThreads, AChildDoesNotWait) {
  const pid_t child = fork();
  if (child == 0) _exit(memory::GuardedLoad64(CpuWord(2)) ? 1 : 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_P(CpuViewThreads, NamesItsMethod) { EXPECT_NE(std::string(view_->method()), ""); }

INSTANTIATE_TEST_SUITE_P(Views, CpuViewThreads,
                         testing::Values(CpuViewKind::kUserfault, CpuViewKind::kSignal),
                         [](const auto& kind) {
                           return std::string(kind.param == CpuViewKind::kUserfault ? "userfault"
                                                                                    : "signal");
                         });

TEST(MakeCpuView, MakesAViewThatThisSystemPermits) {
  const auto memory = std::move(MemoryFile::Make(kGranule.bytes(), kGranule).value());
  EXPECT_TRUE(MakeCpuView(CpuViewKind::kBest, memory->cpu_view(), kGranule));
}

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

TEST(GranuleFor, IsTheWishedSizeIfTheMappingsSuffice) {
  EXPECT_EQ(GranuleFor(64 * kMebibyte, 16 * kMebibyte, PageShift(12), 65530), PageShift(12));
  EXPECT_EQ(GranuleFor(64 * kMebibyte, 16 * kMebibyte, PageShift(21), 65530), PageShift(21));
}

TEST(GranuleFor, GrowsUntilTheMappingsSuffice) {
  // 2^20 pages, of which 2^18 are resident: 2^19 mappings, of which 32765 are available.
  EXPECT_EQ(GranuleFor(4096 * kMebibyte, 1024 * kMebibyte, PageShift(12), 65530), PageShift(17));
  // A large budget does not make more borders than there are granules.
  EXPECT_EQ(GranuleFor(64 * kMebibyte, 64 * kMebibyte, PageShift(12), 65530), PageShift(12));
}

TEST(GranuleFor, EndsAtTwoMegabytes) {
  EXPECT_EQ(GranuleFor(~uint64_t{0}, ~uint64_t{0} / 4, PageShift(12), 65530), PageShift(21));
}

TEST(MappingsMax, IsAtLeastAThousand) { EXPECT_GE(MappingsMax(), 1000u); }

}  // namespace
}  // namespace verbena::managed
