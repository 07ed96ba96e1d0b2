#include "managed/memory_file.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include <gtest/gtest.h>

namespace verbena::managed {
namespace {

constexpr PageShift kSmall(12);
constexpr PageShift kLarge(21);

std::unique_ptr<MemoryFile> Make(uint64_t size, PageShift granule = kSmall) {
  return std::move(MemoryFile::Make(size, granule).value());
}

TEST(MemoryFile, CostsNothingUntilItIsTouched) {
  const auto memory = Make(uint64_t{1} << 30);
  EXPECT_EQ(memory->resident_bytes(), 0u);
  EXPECT_FALSE(memory->IsResident(0));
  EXPECT_EQ(memory->granule_count(), 1u << 18);
}

TEST(MemoryFileDeathTest, BeyondTheFileSizeLimitIsAnErrorAndNoSignal) {
  const auto make = [] {
    const rlimit limit{.rlim_cur = 4 * 4096, .rlim_max = RLIM_INFINITY};
    const bool is_set = setrlimit(RLIMIT_FSIZE, &limit) == 0;
    const bool fits = MemoryFile::Make(4 * 4096, kSmall).has_value();
    const auto longer = MemoryFile::Make(5 * 4096, kSmall);
    const bool names_the_limit =
        !longer && longer.error().text.find("ulimit -f") != std::string::npos;
    _exit(is_set && fits && names_the_limit ? 0 : 1);
  };
  EXPECT_EXIT(make(), testing::ExitedWithCode(0), "");
}

TEST(MemoryFile, BothViewsShowTheSameBytes) {
  const auto memory = Make(4 * 4096);
  memory->cpu_view()[5000] = std::byte{7};
  EXPECT_EQ(memory->adapter_view()[5000], std::byte{7});
  memory->Contents({2, 1})[1] = std::byte{8};
  EXPECT_EQ(memory->cpu_view()[2 * 4096 + 1], std::byte{8});
  EXPECT_EQ(memory->resident_bytes(), 2 * 4096u);
  EXPECT_TRUE(memory->IsResident(1));
  EXPECT_FALSE(memory->IsResident(0));
}

TEST(MemoryFile, DropFreesTheMemoryAndReadsZeros) {
  const auto memory = Make(4 * 4096);
  for (uint32_t i = 0; i < 4; ++i) memory->cpu_view()[i * 4096] = std::byte{9};
  memory->Drop({1, 2});
  EXPECT_EQ(memory->resident_bytes(), 2 * 4096u);
  EXPECT_EQ(memory->cpu_view()[4096], std::byte{0});
  EXPECT_EQ(memory->adapter_view()[2 * 4096], std::byte{0});
  EXPECT_EQ(memory->adapter_view()[3 * 4096], std::byte{9});
}

TEST(MemoryFile, AllocateGetsZeros) {
  const auto memory = Make(600 * 4096);
  memory->cpu_view()[590 * 4096] = std::byte{9};
  memory->Allocate({0, 580});
  EXPECT_EQ(memory->resident_bytes(), 581 * 4096u);
  EXPECT_EQ(memory->adapter_view()[579 * 4096], std::byte{0});
  EXPECT_EQ(memory->cpu_view()[590 * 4096], std::byte{9});
}

TEST(MemoryFile, MakeZeroAllocatesAndClears) {
  const auto memory = Make(8 * 4096);
  memory->cpu_view()[4096] = std::byte{9};
  memory->MakeZero({0, 3});
  EXPECT_EQ(memory->resident_bytes(), 3 * 4096u);
  EXPECT_EQ(memory->cpu_view()[4096], std::byte{0});
}

TEST(MemoryFile, MakeZeroNeedsNoFileSize) {
  const auto memory = Make(8 * 4096);
  memory->cpu_view()[4096] = std::byte{9};
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  memory->MakeZero({0, 3});
  memory->Allocate({4, 2});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(memory->resident_bytes(), 5 * 4096u);
  EXPECT_EQ(memory->cpu_view()[4096], std::byte{0});
}

TEST(MemoryFile, LargeGranulesAreAligned) {
  const auto memory = Make(kLarge.bytes() + 1, kLarge);
  EXPECT_EQ(memory->granule_count(), 2u);
  EXPECT_EQ(memory->cpu_view().size(), 2 * kLarge.bytes());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory->cpu_view().data()) % kLarge.bytes(), 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory->adapter_view()) % kLarge.bytes(), 0u);
  memory->Contents({1, 1})[kLarge.bytes() - 1] = std::byte{1};
  EXPECT_TRUE(memory->IsResident(1)) << "one page is enough";
  EXPECT_FALSE(memory->IsResident(0));
}

TEST(MemoryFile, RefusesImpossibleSizes) {
  EXPECT_FALSE(MemoryFile::Make(0, kSmall));
  EXPECT_FALSE(MemoryFile::Make(~uint64_t{0}, kSmall));
  EXPECT_FALSE(MemoryFile::Make(uint64_t{1} << 60, kSmall));
}

TEST(MemoryFile, AForkedChildFaults) {
  const auto memory = Make(4096);
  memory->cpu_view()[0] = std::byte{1};
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);
    [[maybe_unused]] const auto byte = *static_cast<volatile std::byte*>(memory->cpu_view().data());
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

TEST(MemoryFile, ViewIsAsideUntilPutInPlace) {
  constexpr size_t kSize = 4 * kSmall.bytes();
  auto* const place = static_cast<std::byte*>(
      mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  *place = std::byte{1};
  {
    const auto memory = MemoryFile::MakeAside({place, kSize}, kSmall).value();
    *memory->adapter_view() = std::byte{2};
    EXPECT_EQ(memory->cpu_view().data(), place);
    EXPECT_EQ(*place, std::byte{1});
    EXPECT_EQ(memory->aside()[0], std::byte{2});
    ASSERT_TRUE(memory->PutInPlace());
    EXPECT_EQ(*place, std::byte{2});
    EXPECT_EQ(memory->aside().data(), nullptr);
  }
  EXPECT_EQ(*place, std::byte{2}) << "the destructor leaves the view mapped";
  munmap(place, kSize);
}

}  // namespace
}  // namespace verbena::managed
