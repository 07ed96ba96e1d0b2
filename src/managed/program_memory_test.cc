#include "managed/program_memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/file_descriptor.h"

namespace verbena::managed {
namespace {

constexpr uint64_t kPage = 4096, kSize = 4 * kTakeoverMin;

// Mapped memory between two inaccessible pages.
class Mapped {
 public:
  explicit Mapped(int flags = MAP_PRIVATE | MAP_ANONYMOUS, int file = -1,
                  int rights = PROT_READ | PROT_WRITE) {
    place_ = static_cast<std::byte*>(
        mmap(nullptr, kSize + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_NE(mmap(bytes().data(), kSize, rights, flags | MAP_FIXED, file, 0), MAP_FAILED);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() { munmap(place_, kSize + 2 * kPage); }
  [[nodiscard]] std::span<std::byte> bytes() const { return {place_ + kPage, kSize}; }

 private:
  std::byte* place_;
};

void ExpectRefused(std::span<const std::byte> bytes, const std::string& words) {
  const auto pages = TakeoverPages(bytes);
  ASSERT_FALSE(pages) << words;
  EXPECT_NE(pages.error().find(words), std::string::npos) << pages.error();
}

TEST(MappingTest, IsReadFromALine) {
  const auto heap = Mapping::Parse("55d0c0a00000-55d0c0a21000 rw-p 00000000 00:00 0    [heap]");
  ASSERT_TRUE(heap);
  EXPECT_EQ(heap->first, 0x55d0c0a00000u);
  EXPECT_EQ(heap->end, 0x55d0c0a21000u);
  EXPECT_EQ(heap->rights, "rw-p");
  EXPECT_EQ(heap->name, "[heap]");
  EXPECT_EQ(Mapping::Parse("7f00-8000 rw-p 00000000 00:00 0 ")->name, "");
  EXPECT_EQ(Mapping::Parse("1000-2000 r--s 00001000 08:01 42 /a file")->name, "/a file");
  EXPECT_FALSE(Mapping::Parse("no line of it"));
}

TEST(TakeoverPagesTest, AcceptsMappedMemory) {
  const Mapped memory;
  const auto pages = TakeoverPages(memory.bytes());
  ASSERT_TRUE(pages) << pages.error();
  EXPECT_EQ(pages->data(), memory.bytes().data());
  EXPECT_EQ(pages->size(), kSize);
  EXPECT_TRUE(TakeoverPages(memory.bytes().subspan(kPage, kTakeoverMin)));
}

TEST(TakeoverPagesTest, RefusesPartsOfPages) {
  const Mapped memory;
  ExpectRefused(memory.bytes().subspan(1), "inside a page");
  ExpectRefused(memory.bytes().first(kSize - 1), "inside a page");
}

TEST(TakeoverPagesTest, RefusesMemoryThatIsNotOrdinary) {
  ExpectRefused(Mapped().bytes().first(kTakeoverMin - kPage), "smaller than 256 KiB");
  ExpectRefused(Mapped(MAP_SHARED | MAP_ANONYMOUS).bytes(), "shared");
  ExpectRefused(Mapped(MAP_PRIVATE | MAP_ANONYMOUS, -1, PROT_READ).bytes(), "not both readable");
  const FileDescriptor file(memfd_create("test", 0));
  ASSERT_EQ(ftruncate(file.get(), kSize), 0);
  const Mapped mapped(MAP_PRIVATE, file.get());
  ExpectRefused(mapped.bytes(), "from a file");
  const Mapped memory;
  ASSERT_EQ(mprotect(memory.bytes().data() + kSize / 2, kPage, PROT_READ), 0);
  ExpectRefused(memory.bytes(), "several mappings");
  std::span<std::byte> bytes;
  { bytes = Mapped().bytes(); }
  ExpectRefused(bytes, "not mapped");
}

// Sanitizers replace mlock and munlock of the C library by functions that do nothing.
int64_t Lock(std::byte* first, uint64_t length) { return syscall(SYS_mlock, first, length); }
int64_t Unlock(std::byte* first, uint64_t length) { return syscall(SYS_munlock, first, length); }

TEST(TakeoverPagesTest, RefusesLockedMemory) {
  const Mapped memory;
  if (Lock(memory.bytes().data() + kPage, kPage) != 0) GTEST_SKIP() << "may lock nothing";
  ExpectRefused(memory.bytes(), "several mappings");
  ASSERT_EQ(Unlock(memory.bytes().data() + kPage, kPage), 0);
  EXPECT_TRUE(TakeoverPages(memory.bytes()));
  if (Lock(memory.bytes().data(), kSize) != 0) GTEST_SKIP() << "may lock little";
  ExpectRefused(memory.bytes(), "locked");
}

TEST(TakeoverPagesTest, RefusesStacks) {
  std::array<std::byte, 2 * kTakeoverMin> here;
  ExpectRefused(here, "stack");
  std::thread([] {
    std::array<std::byte, 2 * kTakeoverMin> there;
    const auto first = reinterpret_cast<uintptr_t>(there.data()) / kPage * kPage;
    // The range includes the lowest frames of this thread's stack.
    ExpectRefused({reinterpret_cast<std::byte*>(first - 16 * kPage), kTakeoverMin}, "stack");
  }).join();
}

}  // namespace
}  // namespace verbena::managed
