#pragma once

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

namespace verbena {

// Memory whose page faults wait until Release: it is registered with a userfaultfd that answers
// nothing before. Only root can make faults in the kernel wait too, such as those of
// MADV_POPULATE_*; other users only faults in user mode. Owned by one test.
class StuckPages {
 public:
  static constexpr size_t kPage = 4'096;
  enum class Faults : uint8_t { kOfUserMode, kAll };

  // Whether this process may make such faults wait.
  [[nodiscard]] static bool IsAllowed(Faults faults) {
    const int file = Open(faults);
    if (file >= 0) close(file);
    return file >= 0;
  }

  StuckPages(size_t count, Faults faults) : size_(count * kPage), file_(Open(faults)) {
    CHECK(file_ >= 0);
    void* const place =
        mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(place != MAP_FAILED);
    base_ = static_cast<std::byte*>(place);
    uffdio_api api{.api = UFFD_API, .features = 0, .ioctls = 0};
    CHECK(ioctl(file_, UFFDIO_API, &api) == 0);
  }
  StuckPages(const StuckPages&) = delete;
  StuckPages& operator=(const StuckPages&) = delete;
  ~StuckPages() {
    Release();
    close(file_);
    munmap(base_, size_);
  }

  // Makes accesses to these pages wait. Drops the pages that are present.
  void Stick(size_t first, size_t count) {
    std::byte* const start = base_ + first * kPage;
    uffdio_register range{
        .range = RangeOf(first, count), .mode = UFFDIO_REGISTER_MODE_MISSING, .ioctls = 0};
    CHECK(ioctl(file_, UFFDIO_REGISTER, &range) == 0);
    CHECK(madvise(start, count * kPage, MADV_DONTNEED) == 0);
  }
  // Waiting accesses proceed, with pages of zeros. The kernel wakes up waiters before it
  // unregisters the range; the second ioctl wakes up an access that started to wait in between.
  void Release() {
    uffdio_range all = RangeOf(0, size_ / kPage);
    CHECK(ioctl(file_, UFFDIO_UNREGISTER, &all) == 0);
    CHECK(ioctl(file_, UFFDIO_WAKE, &all) == 0);
  }

  [[nodiscard]] std::span<std::byte> bytes() const { return {base_, size_}; }
  [[nodiscard]] uint64_t address(size_t page = 0) const {
    return reinterpret_cast<uintptr_t>(base_ + page * kPage);
  }

 private:
  static int Open(Faults faults) {
    const int mode = faults == Faults::kOfUserMode ? UFFD_USER_MODE_ONLY : 0;
    return static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | mode));
  }
  uffdio_range RangeOf(size_t first, size_t count) const {
    return {.start = address(first), .len = count * kPage};
  }

  const size_t size_;
  const int file_;
  std::byte* base_ = nullptr;
};

}  // namespace verbena
