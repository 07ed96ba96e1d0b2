#include "odp/pinned_memory.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace verbena::odp {
namespace {

constexpr uint64_t kPage = 4'096;
constexpr uint64_t kPages = 16;

class PinnedMemoryTest : public testing::Test {
 protected:
  PinnedMemoryTest() {
    start_ = static_cast<std::byte*>(
        mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  ~PinnedMemoryTest() override { munmap(start_, kPages * kPage); }

  uint64_t At(uint64_t offset) const { return reinterpret_cast<uintptr_t>(start_) + offset; }
  void Pin(uint64_t offset, uint64_t length) {
    const auto pinned = pinned_.Pin(At(offset), length);
    EXPECT_TRUE(pinned.has_value()) << pinned.error().text;
  }
  // Locked pages of this process.
  static uint64_t Locked() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmLck:")) return std::stoull(line.substr(6)) * 1024 / kPage;
    }
    return 0;
  }

  std::byte* start_ = nullptr;
  const uint64_t before_ = Locked();
  PinnedMemory pinned_;
};

TEST_F(PinnedMemoryTest, PagesArePagedInAndLocked) {
  Pin(100, 2 * kPage);
  EXPECT_EQ(Locked() - before_, 3U);
  unsigned char present[3];
  ASSERT_EQ(mincore(start_, 3 * kPage, present), 0);
  EXPECT_TRUE(present[0] & present[1] & present[2] & 1);
  pinned_.Unpin(At(100), 2 * kPage);
  EXPECT_EQ(Locked(), before_);
}

TEST_F(PinnedMemoryTest, PagesOfSeveralRegionsStayLockedUntilTheLastIsDeregistered) {
  Pin(0, 8 * kPage);
  Pin(4 * kPage, 8 * kPage);
  Pin(6 * kPage, 1);
  EXPECT_EQ(Locked() - before_, 12U);
  pinned_.Unpin(At(0), 8 * kPage);
  EXPECT_EQ(Locked() - before_, 8U);
  pinned_.Unpin(At(4 * kPage), 8 * kPage);
  EXPECT_EQ(Locked() - before_, 1U);
  pinned_.Unpin(At(6 * kPage), 1);
  EXPECT_EQ(Locked(), before_);
}

TEST_F(PinnedMemoryTest, ARegionIsFoundByEitherKey) {
  Pin(0, kPage);
  const Key local(0x1234'5601), remote(0x1234'5602);
  pinned_.Attach(At(0), kPage, local);
  const Key other(0x5555'5501);
  pinned_.Rekey(local, other);
  pinned_.Release(remote);
  EXPECT_EQ(Locked() - before_, 1U) << "it has another key";
  pinned_.Release(other);
  pinned_.Release(other);
  EXPECT_EQ(Locked(), before_);
  EXPECT_EQ(pinned_.region_count(), 0U);
}

TEST_F(PinnedMemoryTest, UnmappedMemoryIsRefusedAndNothingStaysLocked) {
  munmap(start_ + 2 * kPage, kPage);
  EXPECT_FALSE(pinned_.Pin(At(0), 4 * kPage).has_value());
  EXPECT_EQ(Locked(), before_);
}

TEST_F(PinnedMemoryTest, TheLimitIsNamed) {
  // In a child process, which can give up the right to exceed its limit.
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none{.rlim_cur = kPage, .rlim_max = kPage};
    const bool is_user = setrlimit(RLIMIT_MEMLOCK, &none) == 0 && (getuid() != 0 || setuid(1) == 0);
    const auto pinned = pinned_.Pin(At(0), 8 * kPage);
    const bool says = !pinned && pinned.error().code == ErrorCode::kLimit &&
                      pinned.error().text.find("memlock limit") != std::string::npos &&
                      pinned.error().text.find("4 KiB") != std::string::npos;
    _exit(is_user && says ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace verbena::odp
