#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace verbena {

// Restricts this process and its children for good: no userfaultfd, as in containers; no
// MADV_POPULATE_* and no PAGEMAP_SCAN, as on older kernels. False if the system has no seccomp
// filters.
inline bool EnterSandbox() {
  constexpr auto kNumber = static_cast<uint32_t>(offsetof(seccomp_data, nr));
  constexpr auto kSecond = static_cast<uint32_t>(offsetof(seccomp_data, args) + 8);
  constexpr auto kThird = static_cast<uint32_t>(offsetof(seccomp_data, args) + 16);
  constexpr uint32_t kPagemapScan = 0xC060'6610;
  constexpr uint32_t kNewUserfaultfd = 0xAA00;  // of /dev/userfaultfd
  constexpr uint32_t kPopulateRead = 22;
  const auto load = [](uint32_t at) {
    return sock_filter{.code = BPF_LD | BPF_W | BPF_ABS, .jt = 0, .jf = 0, .k = at};
  };
  // Skips the next `skipped` instructions unless the loaded word equals `value`.
  const auto unless = [](uint32_t value, uint8_t skipped) {
    return sock_filter{.code = BPF_JMP | BPF_JEQ | BPF_K, .jt = 0, .jf = skipped, .k = value};
  };
  const auto answer = [](uint32_t what) {
    return sock_filter{.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = what};
  };
  const auto refuse = [&](int error) {
    return answer(SECCOMP_RET_ERRNO | static_cast<uint32_t>(error));
  };
  std::array filter = {
      load(kNumber),  unless(SYS_userfaultfd, 1),   refuse(EPERM),  unless(SYS_ioctl, 5),
      load(kSecond),  unless(kPagemapScan, 1),      refuse(ENOTTY), unless(kNewUserfaultfd, 7),
      refuse(EPERM),  unless(SYS_madvise, 5),       load(kThird),   unless(kPopulateRead, 1),
      refuse(EINVAL), unless(kPopulateRead + 1, 1), refuse(EINVAL), answer(SECCOMP_RET_ALLOW),
  };
  sock_fprog program{.len = static_cast<unsigned short>(filter.size()), .filter = filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace verbena
