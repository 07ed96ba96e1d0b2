#include "managed/swap_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "managed/thread_swap_file.h"
#include "managed/uring_swap_file.h"

namespace verbena::managed {
namespace {

constexpr uint32_t kUnderWayMax = 4;

class Folder {
 public:
  Folder() { CHECK(mkdtemp(name_.data()) != nullptr); }
  ~Folder() {
    unlink(file().c_str());
    rmdir(name_.c_str());
  }
  const std::string& name() const { return name_; }
  std::string file() const { return name_ + "/swap"; }

 private:
  std::string name_ = ::testing::TempDir() + "/verbena-test-XXXXXX";
};

TEST(OpenSwap, InADirectoryLeavesNoName) {
  const Folder folder;
  const auto file = OpenSwap(folder.name());
  ASSERT_TRUE(file);
  EXPECT_EQ(rmdir(folder.name().c_str()), 0) << "empty";
}

TEST(OpenSwap, TruncatesAnExistingFile) {
  const Folder folder;
  {
    const FileDescriptor before(open(folder.file().c_str(), O_CREAT | O_WRONLY, 0600));
    ASSERT_EQ(write(before.get(), "old", 3), 3);
  }
  const auto file = OpenSwap(folder.file());
  ASSERT_TRUE(file);
  struct stat status {};
  ASSERT_EQ(fstat(file->get(), &status), 0);
  EXPECT_EQ(status.st_size, 0);
}

TEST(ReserveInDeathTest, BeyondTheFileSizeLimitIsAnErrorAndNoSignal) {
  const auto reserve = [] {
    const auto file = OpenSwap(testing::TempDir());
    const rlimit limit{.rlim_cur = 8192, .rlim_max = RLIM_INFINITY};
    const bool is_set = setrlimit(RLIMIT_FSIZE, &limit) == 0;
    const bool fits = ReserveIn(file->get(), 0, 8192) == 0;
    _exit(is_set && fits && ReserveIn(file->get(), 8192, 8193) == EFBIG ? 0 : 1);
  };
  EXPECT_EXIT(reserve(), testing::ExitedWithCode(0), "");
}

TEST(OpenSwap, RefusesAFileInUse) {
  const Folder folder;
  const FileDescriptor made(open(folder.file().c_str(), O_CREAT | O_WRONLY, 0600));
  const auto first = OpenSwap(folder.file());
  ASSERT_TRUE(first);
  const auto second = OpenSwap(folder.file());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().os_error, EBUSY);
}

TEST(OpenSwap, RefusesDevicesAndMissingFiles) {
  EXPECT_EQ(OpenSwap("/dev/null").error().os_error, EINVAL);
  const auto missing = OpenSwap("/no/such/place");
  EXPECT_NE(missing.error().text.find("/no/such/place: No such file"), std::string::npos);
}

TEST(OpenSwap, CreatesNoFileForAMistypedDirectory) {
  const Folder folder;
  const auto missing = OpenSwap(folder.file());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().os_error, ENOENT);
  EXPECT_NE(missing.error().text.find("name a directory"), std::string::npos);
  EXPECT_EQ(rmdir(folder.name().c_str()), 0) << "empty";
}

TEST(RoomAt, IsTheRoomOfTheDiskAndOfTheTruncatedFile) {
  const Folder folder;
  EXPECT_GT(RoomAt(folder.name()), 0U);
  EXPECT_EQ(RoomAt("/no/such/place"), UINT64_MAX) << "unknown";
  EXPECT_EQ(RoomAt("/proc/self"), 0U) << "no disk";
}

TEST(OpenSwap, FollowsNoLinkAndBlocksOnNoFifo) {
  const Folder folder;
  const Folder other;
  {
    const FileDescriptor victim(open(other.file().c_str(), O_CREAT | O_WRONLY, 0600));
    ASSERT_EQ(write(victim.get(), "old", 3), 3);
  }
  ASSERT_EQ(symlink(other.file().c_str(), folder.file().c_str()), 0);
  const auto link = OpenSwap(folder.file());
  ASSERT_FALSE(link);
  EXPECT_NE(link.error().text.find("symbolic link"), std::string::npos) << link.error().text;
  struct stat status {};
  ASSERT_EQ(stat(other.file().c_str(), &status), 0);
  EXPECT_EQ(status.st_size, 3);

  ASSERT_EQ(unlink(folder.file().c_str()), 0);
  ASSERT_EQ(mkfifo(folder.file().c_str(), 0600), 0);
  EXPECT_NE(OpenSwap(folder.file()).error().text.find("a FIFO"), std::string::npos);
}

// One suite for both implementations.
class SwapFileTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    FileDescriptor file = std::move(OpenSwap("/tmp").value());
    if (GetParam() == std::string("ring")) {
      file_ = UringSwapFile::Make(file, kUnderWayMax);
      if (!file_) GTEST_SKIP() << "io_uring is refused to this process";
    } else {
      file_ = std::move(ThreadSwapFile::Make(std::move(file), kUnderWayMax).value());
    }
  }

  TransferEnd Await() {
    std::array<TransferEnd, 1> end;
    while (file_->Reap(end) == 0) {
      pollfd readable{.fd = file_->fd(), .events = POLLIN, .revents = 0};
      CHECK(poll(&readable, 1, 10'000) == 1);
    }
    return end[0];
  }

  int64_t Run(bool is_write, uint64_t offset, std::span<const iovec> parts) {
    EXPECT_TRUE(file_->Start({is_write, offset, parts, 77}));
    file_->Kick();
    const TransferEnd end = Await();
    EXPECT_EQ(end.token, 77u);
    return end.result;
  }

  std::unique_ptr<SwapFile> file_;
};

TEST_P(SwapFileTest, ScatteredPartsAreAdjacentInTheFile) {
  ASSERT_EQ(file_->Reserve(0, 16384), 0);
  std::vector<unsigned char> out(8192), in(8192);
  std::iota(out.begin(), out.end(), 0);
  const std::array<iovec, 1> whole{{{out.data(), out.size()}}};
  EXPECT_EQ(Run(true, 4096, whole), 8192);
  const std::array<iovec, 2> crossed{{{in.data() + 4096, 4096}, {in.data(), 4096}}};
  EXPECT_EQ(Run(false, 4096, crossed), 8192);
  EXPECT_TRUE(std::equal(out.begin(), out.begin() + 4096, in.begin() + 4096));
  EXPECT_TRUE(std::equal(out.begin() + 4096, out.end(), in.begin()));
}

TEST_P(SwapFileTest, AReadPastTheEndIsShort) {
  std::array<char, 512> in{};
  const std::array<iovec, 1> part{{{in.data(), in.size()}}};
  EXPECT_EQ(Run(false, 0, part), 0);
}

TEST_P(SwapFileTest, ABadBufferIsAnError) {
  ASSERT_EQ(file_->Reserve(0, 4096), 0);
  const std::array<iovec, 1> part{{{nullptr, 4096}}};
  EXPECT_EQ(Run(true, 0, part), -EFAULT);
}

TEST_P(SwapFileTest, KeepsToItsLimitAndSignalsNothingWhenIdle) {
  std::array<char, 512> bytes{};
  const std::array<iovec, 1> part{{{bytes.data(), bytes.size()}}};
  for (uint64_t i = 0; i < kUnderWayMax; ++i) {
    EXPECT_TRUE(file_->Start({true, i * 512, part, i}));
  }
  EXPECT_FALSE(file_->Start({true, 0, part, 9}));
  file_->Kick();
  uint64_t tokens = 0;
  for (uint64_t i = 0; i < kUnderWayMax; ++i) tokens |= uint64_t{1} << Await().token;
  EXPECT_EQ(tokens, 0b1111u);
  pollfd readable{.fd = file_->fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&readable, 1, 0), 0);
  EXPECT_EQ(Run(true, 0, part), 512) << "Reap has made room";
}

TEST_P(SwapFileTest, DestructionWaitsForOutstandingTransfers) {
  std::vector<char> bytes(1 << 20);
  const std::array<iovec, 1> part{{{bytes.data(), bytes.size()}}};
  for (uint64_t i = 0; i < kUnderWayMax; ++i) {
    EXPECT_TRUE(file_->Start({true, i << 20, part, i}));
  }
  file_.reset();
}

INSTANTIATE_TEST_SUITE_P(Ways, SwapFileTest, testing::Values("ring", "thread"),
                         [](const auto& way) { return std::string(way.param); });

TEST(MakeSwapFile, NamesItsMethod) {
  const auto file = MakeSwapFile("/tmp", kUnderWayMax);
  ASSERT_TRUE(file);
  EXPECT_NE(std::string((*file)->method()), "");
  EXPECT_FALSE(MakeSwapFile("/no/such/place", kUnderWayMax));
}

}  // namespace
}  // namespace verbena::managed
