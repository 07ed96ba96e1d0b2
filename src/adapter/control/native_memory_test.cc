// Memory that a program shares with a file, and with a child.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/adapter_world.h"

namespace verbena::adapter {
namespace {
using queue::SendOpcode;

constexpr uint64_t kBytes = 256 * 1024;

class NativeMemoryTest : public testing::Test {
 protected:
  void SetUp() override { Connect(a_, qa_, b_, qb_, {.timeout = 17}); }

  CompletionStatus Do(QueuePair& qp, SendOpcode opcode, const RemoteAddress& remote,
                      const Sge& bytes) {
    Post(a_, qp, MakeSend(opcode, 1, remote), bytes);
    const auto completion = a_.Wait();
    EXPECT_TRUE(completion.has_value());
    return completion ? completion->status : CompletionStatus::kGeneralError;
  }

  TestNode a_{"127.0.0.1", 2 * kBytes}, b_{"127.0.0.1", kBytes};
  QueuePair& qa_ = a_.MakeQp(QpType::kRc);
  QueuePair& qb_ = b_.MakeQp(QpType::kRc);
};

// A file on a disk, mapped shared, like persistent memory.
class FileMemoryTest : public NativeMemoryTest {
 protected:
  FileMemoryTest() : file_(mkstemp(name_.data())) {
    unlink(name_.c_str());
    EXPECT_EQ(ftruncate(file_, kBytes), 0);
    mapped_ = static_cast<std::byte*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
    const auto at = reinterpret_cast<uintptr_t>(mapped_);
    const auto keys = b_.adapter().RegisterRegion(
        {.pd = b_.pd(), .start = KeyAddress(at), .length = kBytes, .rights = Access::kAll},
        memory::LinearBacking{.base = memory::PhysicalAddress(at)});
    EXPECT_TRUE(keys.has_value());
    key_ = keys->remote;
  }
  ~FileMemoryTest() override {
    munmap(mapped_, kBytes);
    close(file_);
  }

  RemoteAddress OfFile(uint64_t offset) const {
    return {reinterpret_cast<uintptr_t>(mapped_) + offset, key_};
  }

  std::string name_ = ::testing::TempDir() + "/verbena-file-XXXXXX";
  const int file_;
  std::byte* mapped_ = nullptr;
  Key key_;
};

TEST_F(FileMemoryTest, TheFileTheProgramAndThePeerSeeTheSameBytes) {
  a_.Fill(0, kBytes, 5);
  ASSERT_EQ(Do(qa_, SendOpcode::kWrite, OfFile(0), a_.Bytes(0, kBytes)),
            CompletionStatus::kSuccess);
  EXPECT_EQ(std::memcmp(mapped_, a_.memory().data(), kBytes), 0);
  std::vector<std::byte> in_file(kBytes);
  ASSERT_EQ(pread(file_, in_file.data(), kBytes, 0), static_cast<ssize_t>(kBytes));
  EXPECT_EQ(std::memcmp(in_file.data(), a_.memory().data(), kBytes), 0);
  // Peers read what others have written to the file.
  std::memset(in_file.data(), 0x3C, 8'192);
  ASSERT_EQ(pwrite(file_, in_file.data(), 8'192, 4'096), 8'192);
  ASSERT_EQ(Do(qa_, SendOpcode::kRead, OfFile(0), a_.Bytes(kBytes, kBytes)),
            CompletionStatus::kSuccess);
  EXPECT_EQ(std::memcmp(a_.memory().data() + kBytes, mapped_, kBytes), 0);
  EXPECT_EQ(a_.memory()[kBytes + 4'096], std::byte{0x3C});
}

TEST_F(FileMemoryTest, TruncationIsAnAccessErrorOfOneQueuePair) {
  QueuePair& other_a = a_.MakeQp(QpType::kRc);
  QueuePair& other_b = b_.MakeQp(QpType::kRc);
  Connect(a_, other_a, b_, other_b);
  ASSERT_EQ(Do(qa_, SendOpcode::kWrite, OfFile(0), a_.Bytes(0, kBytes)),
            CompletionStatus::kSuccess);
  ASSERT_EQ(ftruncate(file_, kBytes / 2), 0);
  EXPECT_EQ(Do(qa_, SendOpcode::kWrite, OfFile(0), a_.Bytes(0, kBytes)),
            CompletionStatus::kRemoteAccessError);
  EXPECT_EQ(Do(other_a, SendOpcode::kRead, OfFile(0), a_.Bytes(0, kBytes / 2)),
            CompletionStatus::kSuccess);
  // The file grows again, and can be read to its new end.
  ASSERT_EQ(ftruncate(file_, kBytes), 0);
  EXPECT_EQ(Do(other_a, SendOpcode::kRead, OfFile(0), a_.Bytes(0, kBytes)),
            CompletionStatus::kSuccess);
  EXPECT_EQ(a_.memory()[kBytes - 1], std::byte{0});
}

TEST_F(NativeMemoryTest, AForkedChildHasItsOwnCopy) {
  b_.Fill(0, 65'536, 1);
  ASSERT_EQ(Do(qa_, SendOpcode::kRead, b_.Remote(0), a_.Bytes(0, 65'536)),
            CompletionStatus::kSuccess);
  int written[2], ended[2];
  ASSERT_EQ(pipe(written), 0);
  ASSERT_EQ(pipe(ended), 0);
  const pid_t child = fork();
  if (child == 0) {
    std::memset(b_.memory().data(), 0xEE, 65'536);
    char byte = 0;
    const bool is_synchronized = write(written[1], &byte, 1) == 1 && read(ended[0], &byte, 1) == 1;
    // The child does not see what peers wrote meanwhile.
    _exit(is_synchronized && b_.memory()[100] == std::byte{0xEE} ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(read(written[0], &byte, 1), 1);
  ASSERT_EQ(Do(qa_, SendOpcode::kRead, b_.Remote(0), a_.Bytes(0, 65'536)),
            CompletionStatus::kSuccess);
  EXPECT_TRUE(a_.Holds(0, 65'536, 1)) << "the parent's";
  a_.Fill(0, 65'536, 9);
  ASSERT_EQ(Do(qa_, SendOpcode::kWrite, b_.Remote(0), a_.Bytes(0, 65'536)),
            CompletionStatus::kSuccess);
  EXPECT_TRUE(b_.Holds(0, 65'536, 9));
  ASSERT_EQ(write(ended[1], &byte, 1), 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  for (const int file : {written[0], written[1], ended[0], ended[1]}) close(file);
}

}  // namespace
}  // namespace verbena::adapter
