// Which blocks of the C library's malloc can be taken over by an arena. This test is here and not
// next to the code because a sanitizer replaces malloc.

#include <malloc.h>

#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "managed/program_memory.h"

namespace verbena::scenario {
namespace {

using managed::TakeoverPages;

constexpr uint64_t kPage = 4096, kSize = 4 * managed::kTakeoverMin;
constexpr uint64_t kLarge = uint64_t{48} << 20;

class MallocMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasUsualMalloc()) GTEST_SKIP() << "a sanitizer's malloc: see the release build";
  }
  void TearDown() override { mallopt(M_MMAP_THRESHOLD, 1 << 17); }

  static void ExpectRefused(std::span<const std::byte> bytes, const std::string& why) {
    const auto pages = TakeoverPages(bytes);
    ASSERT_FALSE(pages);
    EXPECT_NE(pages.error().find(why), std::string::npos) << pages.error();
  }

 private:
  static bool HasUsualMalloc() {
    mallopt(M_MMAP_THRESHOLD, 1 << 17);
    const std::unique_ptr<std::byte, void (*)(void*)> block(
        static_cast<std::byte*>(std::malloc(kLarge)), std::free);
    return reinterpret_cast<uintptr_t>(block.get()) % kPage == 16;
  }
};

TEST_F(MallocMemoryTest, LargeBlocksCanBeTakenOver) {
  const std::unique_ptr<std::byte, void (*)(void*)> block(
      static_cast<std::byte*>(std::malloc(kLarge + 5)), std::free);
  const auto pages = TakeoverPages({block.get(), kLarge + 5});
  ASSERT_TRUE(pages) << pages.error();
  EXPECT_EQ(pages->data(), block.get() - 16);
  EXPECT_EQ(pages->size(), kLarge + kPage);
  ExpectRefused({block.get() + 32, kLarge - 64}, "inside a page");
  void* aligned = nullptr;
  ASSERT_EQ(posix_memalign(&aligned, kPage, kLarge + 5), 0);
  const auto rounded = TakeoverPages({static_cast<std::byte*>(aligned), kLarge + 5});
  EXPECT_TRUE(rounded) << rounded.error();
  std::free(aligned);
}

TEST_F(MallocMemoryTest, BlocksInHeapsCannotBeTakenOver) {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  const auto refused = [] {
    void* block = nullptr;
    ASSERT_EQ(posix_memalign(&block, kPage, kSize), 0);
    ExpectRefused({static_cast<std::byte*>(block), kSize}, "that malloc keeps");
    std::free(block);
  };
  refused();
  std::thread(refused).join();
}

}  // namespace
}  // namespace verbena::scenario
