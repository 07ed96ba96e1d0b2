#include "host/shared_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <string>

#include <gtest/gtest.h>

#include "base/file_descriptor.h"

namespace verbena::host {
namespace {

FileDescriptor NewFile(off_t bytes) {
  FileDescriptor file(memfd_create("shared", MFD_CLOEXEC));
  EXPECT_EQ(ftruncate(file.get(), bytes), 0);
  return file;
}
FileDescriptor Reopen(const FileDescriptor& file, int mode) {
  return FileDescriptor(open(("/proc/self/fd/" + std::to_string(file.get())).c_str(), mode));
}

TEST(SharedFileTest, TwoDescriptorsOfOneFileAreTheSame) {
  const FileDescriptor file = NewFile(8'192), other = NewFile(8'192);
  const FileDescriptor again = Reopen(file, O_RDONLY);
  const auto first = InspectSharedFile(file.get());
  const auto second = InspectSharedFile(again.get());
  const auto third = InspectSharedFile(other.get());
  ASSERT_TRUE(first && second && third);
  EXPECT_EQ(first->identity, second->identity);
  EXPECT_NE(first->identity, third->identity);
  EXPECT_EQ(first->bytes, 8'192U);
}

TEST(SharedFileTest, ADescriptorForReadingAllowsKeysForReading) {
  const FileDescriptor file = NewFile(4'096);
  const FileDescriptor again = Reopen(file, O_RDONLY);
  const auto writable = InspectSharedFile(file.get());
  const auto readable = InspectSharedFile(again.get());
  ASSERT_TRUE(writable && readable);
  EXPECT_TRUE(writable->Allows(Access::kRemote));
  EXPECT_TRUE(readable->Allows(Access::kRemoteRead));
  EXPECT_FALSE(readable->Allows(Access::kRemoteRead | Access::kRemoteWrite));
  EXPECT_FALSE(readable->Allows(Access::kRemoteAtomic));
}

TEST(SharedFileTest, WhatIsNoSharedMemoryIsRefused) {
  EXPECT_FALSE(InspectSharedFile(-1));
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const FileDescriptor in(ends[0]), out(ends[1]);
  EXPECT_FALSE(InspectSharedFile(in.get()));
  const FileDescriptor null(open("/dev/null", O_RDWR));
  EXPECT_FALSE(InspectSharedFile(null.get()));
  const FileDescriptor file = NewFile(4'096);
  const FileDescriptor path = Reopen(file, O_PATH), write_only = Reopen(file, O_WRONLY);
  EXPECT_FALSE(InspectSharedFile(path.get()));
  EXPECT_FALSE(InspectSharedFile(write_only.get()));
}

}  // namespace
}  // namespace verbena::host
