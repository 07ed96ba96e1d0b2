// Managed memory also works in a sandbox that forbids userfaultfd and io_uring, like those of
// containers, and reports the methods it uses.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "managed/arena.h"
#include "tests/support/arena_fixture.h"

#ifndef USERFAULTFD_IOC_NEW
#define USERFAULTFD_IOC_NEW _IO(0xAA, 0x00)
#endif

namespace verbena::managed {
namespace {

constexpr sock_filter Load(size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset));
}

// Runs the next `skip` statements only for this value.
constexpr sock_filter UnlessEqualSkip(long value, uint8_t skip) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(value), 0, skip);
}

constexpr sock_filter Return(uint32_t what) { return BPF_STMT(BPF_RET | BPF_K, what); }

constexpr uint32_t kRefused = SECCOMP_RET_ERRNO | EPERM;

void Enter() {
  std::array filter = {
      Load(offsetof(seccomp_data, nr)),
      UnlessEqualSkip(SYS_io_uring_setup, 1),
      Return(kRefused),
      UnlessEqualSkip(SYS_userfaultfd, 1),
      Return(kRefused),
      UnlessEqualSkip(SYS_ioctl, 3),
      Load(offsetof(seccomp_data, args) + 8),
      UnlessEqualSkip(USERFAULTFD_IOC_NEW, 1),
      Return(kRefused),
      Return(SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{.len = static_cast<unsigned short>(filter.size()),
                           .filter = filter.data()};
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0);
}

// Exits with 0 if all checks pass, and otherwise with the number of the one that fails.
[[noreturn]] void UseInSandbox() {
  Enter();
  constexpr uint64_t kPages = 1024;
  const ArenaCallbacks callbacks{
      .on_ready = [](auto, const auto&) {}, .unmap_adapter = [](auto) {}, .on_store = {}};
  const auto arena = Arena::Make(
      {.size = kPages * 4096, .budget = kPages / 4 * 4096, .swap = "/tmp", .now = Now}, callbacks);
  if (!arena) _exit(1);
  const ArenaReport report = (*arena)->report();
  if (std::string(report.view_method).find("SIGSEGV") == std::string::npos) _exit(2);
  if (std::string(report.swap_method) != "a thread") _exit(3);
  auto* const words = reinterpret_cast<volatile uint64_t*>((*arena)->bytes().data());
  for (uint64_t i = 0; i < kPages; ++i) words[i * 512] = i + 1;
  for (uint64_t i = 0; i < kPages; ++i) {
    if (words[i * 512] != i + 1) _exit(4);
  }
  if ((*arena)->resident_bytes() > kPages / 4 * 4096) _exit(5);
  _exit(0);
}

TEST(SandboxDeathTest, ManagedMemoryWorksInIt) {
  EXPECT_EXIT(UseInSandbox(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace verbena::managed
