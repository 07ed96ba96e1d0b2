#include "managed/signal_view.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "managed/memory_file.h"
#include "memory/copy/guarded_copy.h"

// What both views do is in cpu_view_test.cc.

namespace verbena::managed {
namespace {

constexpr PageShift kGranule(12);
constexpr uint32_t kGranules = 16;

std::unique_ptr<MemoryFile> MakeMemory() {
  return std::move(MemoryFile::Make(kGranules * kGranule.bytes(), kGranule).value());
}

std::unique_ptr<CpuView> MakeView(const MemoryFile& memory) {
  return std::move(SignalView::Make(memory.cpu_view(), memory.granule()).value());
}

bool CanRead(const MemoryFile& memory, uint32_t granule) {
  return memory::GuardedLoad64(memory.cpu_view().data() + granule * kGranule.bytes()).has_value();
}

// Pages with alternating rights: a mapping each. Takes all mappings that the system grants.
class AllMappings {
 public:
  AllMappings() : size_((MappingsMax() + 100) * kPage), pages_(Reserve(size_)) {
    for (size_t at = 0; at < size_; at += 2 * kPage) {
      if (mprotect(pages_ + at, kPage, PROT_READ) != 0) return;
    }
  }
  ~AllMappings() { munmap(pages_, size_); }

 private:
  static constexpr size_t kPage = 4096;

  static char* Reserve(size_t size) {
    void* const place =
        mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(place != MAP_FAILED);
    return static_cast<char*>(place);
  }

  const size_t size_;
  char* const pages_;
};

TEST(SignalView, WhenMappingsRunOutItUnmapsTheWholeView) {
  const auto memory = MakeMemory();
  const auto view = MakeView(*memory);
  memory->MakeZero({0, kGranules});
  view->Map({0, 8}, true);
  for (uint32_t i = 9; i < kGranules; i += 2) view->Map({i, 1}, true);
  {
    const AllMappings all;
    view->Map({2, 1}, false);  // a new border between mappings
    EXPECT_TRUE(CanRead(*memory, 2));
  }
  // The other granules fault, and the pager maps them again when it takes the faults.
  std::thread program([&] { EXPECT_TRUE(CanRead(*memory, 5)); });
  std::array<CpuFault, 1> fault;
  while (view->TakeFaults(fault) == 0) std::this_thread::yield();
  EXPECT_EQ(fault[0].granule, 5u);
  view->Map({5, 1}, true);
  program.join();
}

TEST(SignalView, TheNumberOfViewsIsLimited) {
  std::vector<std::unique_ptr<MemoryFile>> memories;
  std::vector<std::unique_ptr<CpuView>> views;
  for (size_t i = 0; i <= SignalView::kViewsMax; ++i) {
    memories.push_back(MakeMemory());
    auto view = SignalView::Make(memories.back()->cpu_view(), kGranule);
    if (!view) {
      EXPECT_EQ(view.error().os_error, ENOMEM);
      EXPECT_EQ(views.size(), SignalView::kViewsMax);
      break;
    }
    views.push_back(std::move(*view));
  }
  ASSERT_EQ(views.size(), SignalView::kViewsMax);
  views.pop_back();
  EXPECT_TRUE(SignalView::Make(memories.front()->cpu_view(), kGranule)) << "one went";
}

TEST(SignalView, SystemCallsDoNotWait) {
  const auto memory = MakeMemory();
  const auto view = MakeView(*memory);
  const FileDescriptor zeros(open("/dev/zero", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(read(zeros.get(), memory->cpu_view().data(), 8), -1);
  EXPECT_EQ(errno, EFAULT);
}

TEST(SignalViewDeathTest, FaultsOfOtherMemoryGoToTheProgram) {
  EXPECT_EXIT(
      {
        struct sigaction action {};
        action.sa_handler = [](int) { _exit(42); };
        CHECK(sigaction(SIGSEGV, &action, nullptr) == 0);
        const auto memory = MakeMemory();
        const auto view = MakeView(*memory);
        memory->MakeZero({0, 1});
        view->Map({0, 1}, true);
        *static_cast<volatile std::byte*>(memory->cpu_view().data()) = std::byte{1};
        view->Refuse({0, 1});
        *static_cast<volatile std::byte*>(memory->cpu_view().data()) = std::byte{2};
      },
      testing::ExitedWithCode(42), "");
}

}  // namespace
}  // namespace verbena::managed
