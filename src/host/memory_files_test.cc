#include "host/memory_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>

#include <gtest/gtest.h>

namespace verbena::host {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

FileDescriptor MemoryOf(uint64_t bytes, uint64_t filled) {
  FileDescriptor file(memfd_create("guest", MFD_ALLOW_SEALING));
  EXPECT_EQ(ftruncate(file.get(), static_cast<off_t>(bytes)), 0);
  if (filled > 0) {
    EXPECT_EQ(fallocate(file.get(), 0, 0, static_cast<off_t>(filled)), 0);
  }
  return file;
}

TEST(MemoryFiles, MeasuresWhatIsInMemory) {
  MemoryFiles files;
  ASSERT_TRUE(files.Add(1, MemoryOf(64 * kMiB, 3 * kMiB), 64 * kMiB, 2));
  ASSERT_TRUE(files.Add(2, MemoryOf(kMiB, kMiB), kMiB, 2));
  EXPECT_EQ(files.bytes(), 65 * kMiB);
  EXPECT_EQ(files.resident(), 4 * kMiB);
  files.Remove(1);
  EXPECT_EQ(files.resident(), kMiB);
}

TEST(MemoryFiles, PunchesWhatIsThereAndNotHoles) {
  MemoryFiles files;
  FileDescriptor file = MemoryOf(64 * kMiB, 0);
  ASSERT_EQ(fallocate(file.get(), 0, 32 * kMiB, 32 * kMiB), 0);
  ASSERT_TRUE(files.Add(1, std::move(file), 64 * kMiB, 2));
  EXPECT_EQ(files.Punch(kMiB), 16 * kMiB) << "in pieces";
  EXPECT_EQ(files.resident(), 16 * kMiB);
  EXPECT_EQ(files.Punch(100 * kMiB), 16 * kMiB);
  EXPECT_EQ(files.resident(), 0U);
}

TEST(MemoryFiles, WhatIsTakenForGoodStaysTaken) {
  MemoryFiles files;
  FileDescriptor file = MemoryOf(kMiB, kMiB);
  const FileDescriptor guests(dup(file.get()));
  ASSERT_TRUE(files.Add(1, std::move(file), kMiB, 2));
  files.TakeAll();
  EXPECT_EQ(lseek(guests.get(), 0, SEEK_END), 0);
  EXPECT_EQ(files.count(), 0U);
}

TEST(MemoryFiles, RefusesWhatIsNoMemoryFile) {
  MemoryFiles files;
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const FileDescriptor other(ends[1]);
  EXPECT_FALSE(files.Add(1, FileDescriptor(ends[0]), 0, 2));
  EXPECT_FALSE(files.Add(1, FileDescriptor(), 0, 2));
  EXPECT_FALSE(files.Add(1, FileDescriptor(open("/dev/zero", O_RDWR)), 0, 2));
}

TEST(MemoryFiles, RefusesWhatCannotBeTakenBack) {
  MemoryFiles files;
  FileDescriptor sealed = MemoryOf(kMiB, kMiB);
  ASSERT_EQ(fcntl(sealed.get(), F_ADD_SEALS, F_SEAL_WRITE), 0);
  EXPECT_FALSE(files.Add(1, std::move(sealed), kMiB, 2));
  FileDescriptor shown = MemoryOf(kMiB, kMiB);
  const std::string path = "/proc/self/fd/" + std::to_string(shown.get());
  EXPECT_FALSE(files.Add(1, FileDescriptor(open(path.c_str(), O_RDONLY)), kMiB, 2));
}

TEST(MemoryFiles, RefusesWrongSizesAndTooMany) {
  MemoryFiles files;
  EXPECT_FALSE(files.Add(1, MemoryOf(kMiB, 0), 2 * kMiB, 2));
  EXPECT_TRUE(files.Add(1, MemoryOf(kMiB, 0), kMiB, 2));
  EXPECT_FALSE(files.Add(1, MemoryOf(kMiB, 0), kMiB, 2));
  EXPECT_TRUE(files.Add(2, MemoryOf(kMiB, 0), kMiB, 2));
  EXPECT_FALSE(files.Add(3, MemoryOf(kMiB, 0), kMiB, 2));
}

}  // namespace
}  // namespace verbena::host
