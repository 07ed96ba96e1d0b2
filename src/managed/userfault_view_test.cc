#include "managed/userfault_view.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "managed/memory_file.h"

// cpu_view_test.cc tests what both views have in common.

namespace verbena::managed {
namespace {

constexpr PageShift kGranule(12);

class UserfaultViewThreads : public testing::Test {
 protected:
  void SetUp() override {
    memory_ = std::move(MemoryFile::Make(16 * kGranule.bytes(), kGranule).value());
    auto view = UserfaultView::Make(memory_->cpu_view(), kGranule);
    if (!view) GTEST_SKIP() << view.error().text;
    view_ = std::move(*view);
  }

  CpuFault Await() {
    std::array<CpuFault, 1> fault;
    while (view_->TakeFaults(fault) == 0) std::this_thread::yield();
    return fault[0];
  }

  std::unique_ptr<MemoryFile> memory_;
  std::unique_ptr<CpuView> view_;
};

TEST_F(UserfaultViewThreads, SystemCallsWaitOrFailAsTheMethodNames) {
  const FileDescriptor zeros(open("/dev/zero", O_RDONLY | O_CLOEXEC));
  ssize_t length = 0;
  int error = 0;
  std::thread program([&] {
    length = read(zeros.get(), memory_->cpu_view().data(), 8);
    error = errno;
  });
  if (std::string(view_->method()).find("user mode only") != std::string::npos) {
    program.join();
    EXPECT_EQ(length, -1);
    EXPECT_EQ(error, EFAULT);
    return;
  }
  EXPECT_TRUE(Await().is_write);
  memory_->MakeZero({0, 1});
  view_->Map({0, 1}, true);
  program.join();
  EXPECT_EQ(length, 8);
}

TEST_F(UserfaultViewThreads, ReadingDoesNotMapNeighbours) {
  memory_->MakeZero({0, 16});
  view_->Map({4, 1}, false);
  EXPECT_EQ(memory_->cpu_view()[4 * kGranule.bytes()], std::byte{0});
  std::thread program([&] { EXPECT_EQ(memory_->cpu_view()[5 * kGranule.bytes()], std::byte{0}); });
  EXPECT_EQ(Await().granule, 5u) << "the kernel would map pages around the fault";
  view_->Map({5, 1}, false);
  program.join();
}

TEST_F(UserfaultViewThreads, APartlyMappedRunIsMappedWhole) {
  memory_->MakeZero({0, 16});
  view_->Map({3, 1}, true);
  view_->Map({8, 2}, false);
  view_->Map({0, 16}, true);
  for (uint32_t i = 0; i < 16; ++i) {
    static_cast<volatile std::byte&>(memory_->cpu_view()[i * kGranule.bytes()]) = std::byte{1};
  }
  std::array<CpuFault, 1> fault;
  EXPECT_EQ(view_->TakeFaults(fault), 0u);
}

TEST_F(UserfaultViewThreads, MoreWaitingThreadsThanItsListHoldsAreAllWoken) {
  constexpr uint32_t kThreads = 150;
  view_.reset();
  memory_ = std::move(MemoryFile::Make(kThreads * kGranule.bytes(), kGranule).value());
  view_ = std::move(UserfaultView::Make(memory_->cpu_view(), kGranule).value());
  memory_->MakeZero({0, kThreads});
  std::atomic<uint32_t> through = 0;
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      static_cast<volatile std::byte&>(memory_->cpu_view()[i * kGranule.bytes()]) = std::byte{1};
      ++through;
    });
  }
  usleep(50'000);
  for (std::array<CpuFault, 7> faults; through < kThreads;) {
    const size_t count = view_->TakeFaults(faults);
    for (size_t i = 0; i < count; ++i) view_->Map({faults[i].granule, 1}, true);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(view_->has_heard());
}

}  // namespace
}  // namespace verbena::managed
