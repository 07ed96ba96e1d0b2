#include "memory/spaces/current_io_page.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include <gtest/gtest.h>

namespace verbena::memory {
namespace {

FileDescriptor Copy(int file) { return FileDescriptor(dup(file)); }

TEST(CurrentIoPage, IsTheSameForBothSides) {
  const auto guest = CurrentIoPage::Create();
  ASSERT_TRUE(guest);
  const auto hypervisor = CurrentIoPage::Open(Copy(guest->fd()));
  ASSERT_TRUE(hypervisor);
  EXPECT_NE(&guest->word(7), &hypervisor->word(7));
  EXPECT_EQ(CurrentIo(guest->word(7)).Begin(), CurrentIo::BeginResult::kStarted);
  EXPECT_EQ(CurrentIo(hypervisor->word(7)).Quiesce(), CurrentIo::QuiesceResult::kBusy);
  EXPECT_EQ(CurrentIo(guest->word(7)).End(), CurrentIo::EndResult::kLastWhileQuiesced);
  EXPECT_TRUE(CurrentIo(hypervisor->word(7)).IsIdle());
  EXPECT_EQ(CurrentIo(hypervisor->word(6)).Quiesce(), CurrentIo::QuiesceResult::kIdle)
      << "words do not touch each other";
}

TEST(CurrentIoPage, IsSharedBetweenProcesses) {
  const auto guest = CurrentIoPage::Create();
  ASSERT_TRUE(guest);
  const pid_t child = fork();
  if (child == 0) {
    const auto page = CurrentIoPage::Open(Copy(guest->fd()));
    const bool is_set =
        page && CurrentIo(page->word(0)).Quiesce() == CurrentIo::QuiesceResult::kIdle;
    _exit(is_set ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(CurrentIo(guest->word(0)).Begin(), CurrentIo::BeginResult::kQuiesced);
}

// A guest that could shorten the file would end the hypervisor by SIGBUS.
TEST(CurrentIoPage, CannotBeShortened) {
  const auto guest = CurrentIoPage::Create();
  ASSERT_TRUE(guest);
  EXPECT_NE(ftruncate(guest->fd(), 0), 0);
}

TEST(CurrentIoPage, OtherFilesAreRefused) {
  FileDescriptor unsealed(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(unsealed.get(), CurrentIoPage::kBytes), 0);
  EXPECT_FALSE(CurrentIoPage::Open(std::move(unsealed)));
  FileDescriptor empty(memfd_create("test", MFD_CLOEXEC));
  EXPECT_FALSE(CurrentIoPage::Open(std::move(empty)));
  EXPECT_FALSE(CurrentIoPage::Open(FileDescriptor()));
}

}  // namespace
}  // namespace verbena::memory
