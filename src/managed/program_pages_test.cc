#include "managed/program_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "memory/copy/guarded_copy.h"
#include "memory/copy/signal_guard.h"

namespace verbena::managed {
namespace {

constexpr size_t kPage = 4096, kSize = 16 * kPage;

class ProgramPagesThreads : public testing::Test {
 protected:
  void SetUp() override {
    memory::SignalGuard::Install();
    if (auto source = OpenForSystemCalls(); !source) GTEST_SKIP() << source.error().text;
    void* const place =
        mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    home_ = {static_cast<std::byte*>(place), kSize};
    std::memset(home_.data(), 5, kSize);
    pages_ = std::move(ProgramPages::MoveAside(home_).value());
  }
  ~ProgramPagesThreads() override {
    if (!home_.empty()) munmap(home_.data(), kSize);
  }
  bool IsReadable(size_t page) {
    char byte = 0;
    return !memory::GuardedCopy(&byte, home_.data() + page * kPage, 1).fault;
  }

  std::span<std::byte> home_;
  std::unique_ptr<ProgramPages> pages_;
};

TEST_F(ProgramPagesThreads, MoveAsideWithTheirContentsAndReturnWithNewOnes) {
  for (const std::byte byte : pages_->aside()) ASSERT_EQ(byte, std::byte{5});
  std::atomic<bool> is_through = false;
  std::thread program([&] {
    EXPECT_EQ(home_[17], std::byte{6});
    is_through = true;
  });
  usleep(10'000);
  EXPECT_FALSE(is_through) << "who touches the home waits";
  std::memset(pages_->aside().data(), 6, kSize);
  pages_->Return(0, kSize);
  pages_->Wake();
  program.join();
  EXPECT_EQ(home_[kSize - 1], std::byte{6});
}

TEST_F(ProgramPagesThreads, EmptiedPagesAreZero) {
  pages_->Empty(kPage, kPage);
  pages_->Return(0, kSize);
  EXPECT_EQ(home_[0], std::byte{5});
  EXPECT_EQ(home_[kPage], std::byte{0});
  EXPECT_EQ(home_[2 * kPage], std::byte{5});
}

TEST_F(ProgramPagesThreads, HasAnyReportsTouchedPages) {
  pages_->Empty(kPage, 3 * kPage);
  EXPECT_TRUE(pages_->HasAny(0, kPage));
  EXPECT_FALSE(pages_->HasAny(kPage, 3 * kPage));
  EXPECT_TRUE(pages_->HasAny(kPage, 4 * kPage));
  pages_->aside()[2 * kPage] = std::byte{1};
  EXPECT_TRUE(pages_->HasAny(kPage, 3 * kPage));
  pages_->Return(0, kSize);
}

TEST_F(ProgramPagesThreads, LostPagesCannotBeRead) {
  pages_->Return(0, kPage);
  pages_->Lose(kPage, kPage);
  pages_->Return(2 * kPage, kSize - 2 * kPage);
  EXPECT_TRUE(IsReadable(0));
  EXPECT_FALSE(IsReadable(1));
  EXPECT_TRUE(IsReadable(2));
}

TEST_F(ProgramPagesThreads, AnUnmappedHomeIsNotTouched) {
  ASSERT_EQ(munmap(home_.data(), kPage), 0);
  pages_->Forget(0, kPage);
  pages_->Return(kPage, kSize - kPage);
  EXPECT_FALSE(IsReadable(0));
  EXPECT_EQ(home_[kPage], std::byte{5});
}

TEST_F(ProgramPagesThreads, PagesThatAreAsideCannotBeMovedAgain) {
  EXPECT_FALSE(ProgramPages::MoveAside(home_)) << "it is watched already";
  pages_->Return(0, kSize);
  EXPECT_EQ(home_[0], std::byte{5});
}

}  // namespace
}  // namespace verbena::managed
