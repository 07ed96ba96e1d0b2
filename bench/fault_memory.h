#pragma once

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <thread>

#include "base/random.h"
#include "bench/fault_world.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif
#ifndef USERFAULTFD_IOC_NEW
#define USERFAULTFD_IOC_NEW _IO(0xAA, 0x00)
#endif

namespace verbena::bench {

// Ends the program with the reason if a system call failed.
inline void MustCall(bool good, const char* call) {
  if (good) return;
  std::perror(call);
  std::exit(EXIT_FAILURE);
}

// Memory without present pages, in pages of 4 KiB even if the system prefers huge pages.
class FreshPages {
 public:
  explicit FreshPages(size_t bytes) : size_(bytes) {
    place_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MustCall(place_ != MAP_FAILED, "mmap");
    madvise(place_, bytes, MADV_NOHUGEPAGE);
  }
  FreshPages(const FreshPages&) = delete;
  FreshPages& operator=(const FreshPages&) = delete;
  ~FreshPages() { munmap(place_, size_); }

  [[nodiscard]] std::span<std::byte> bytes() const {
    return {static_cast<std::byte*>(place_), size_};
  }

 private:
  void* place_;
  size_t size_;
};

// The system call that a pager cannot avoid: the lower bound for the cost of a fault.
inline void Populate(std::span<std::byte> bytes, bool for_write) {
  const int advice = for_write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
  MustCall(madvise(bytes.data(), bytes.size(), advice) == 0, "madvise(MADV_POPULATE)");
}

// Simulates a disk: serves page faults one at a time, each after `delay`, without using the
// processor. Uses userfaultfd. Serving faults within system calls, such as those of the adapter's
// pager, needs root.
class SlowStorage {
 public:
  SlowStorage(std::span<std::byte> bytes, std::chrono::nanoseconds delay)
      : delay_(delay), file_(Open()) {
    MustCall(file_ >= 0, "userfaultfd");
    uffdio_api api{.api = UFFD_API, .features = 0, .ioctls = 0};
    MustCall(ioctl(file_, UFFDIO_API, &api) == 0, "UFFDIO_API");
    uffdio_register range{
        .range = {.start = reinterpret_cast<uintptr_t>(bytes.data()), .len = bytes.size()},
        .mode = UFFDIO_REGISTER_MODE_MISSING,
        .ioctls = 0};
    MustCall(ioctl(file_, UFFDIO_REGISTER, &range) == 0, "UFFDIO_REGISTER");
    const OwnProcessor others;
    thread_ = std::thread([this] { Serve(); });
  }
  SlowStorage(const SlowStorage&) = delete;
  SlowStorage& operator=(const SlowStorage&) = delete;
  ~SlowStorage() {
    stops_.store(true);
    thread_.join();
    close(file_);
  }

  // Whether this process is allowed to serve faults within system calls.
  [[nodiscard]] static bool IsAllowed() {
    const int file = Open();
    if (file >= 0) close(file);
    return file >= 0;
  }

 private:
  static constexpr int kLookEveryMs = 20;

  static int Open() {
    const int device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
    if (device < 0) return static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK));
    const int file = ioctl(device, USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK);
    close(device);
    return file;
  }

  void Serve() {
    prctl(PR_SET_TIMERSLACK, 1UL);
    while (!stops_.load()) {
      pollfd waited{.fd = file_, .events = POLLIN, .revents = 0};
      if (poll(&waited, 1, kLookEveryMs) <= 0) continue;
      uffd_msg fault;
      if (read(file_, &fault, sizeof(fault)) != sizeof(fault)) continue;
      if (delay_.count() > 0) std::this_thread::sleep_for(delay_);
      uffdio_copy copy{.dst = fault.arg.pagefault.address & ~uint64_t{kPage - 1},
                       .src = reinterpret_cast<uintptr_t>(contents_.data()),
                       .len = kPage,
                       .mode = 0,
                       .copy = 0};
      // Fails with EEXIST, which is harmless, if two threads had the same fault.
      ioctl(file_, UFFDIO_COPY, &copy);
    }
  }

  const std::chrono::nanoseconds delay_;
  const int file_;
  alignas(kPage) std::array<std::byte, kPage> contents_{};
  std::atomic<bool> stops_ = false;
  std::thread thread_;
};

// Managed memory with contents that do not compress. Its pager thread does not share the caller's
// processor.
inline ManagedMemory MakeManaged(const Context& context, const ManagedMemoryOptions& options) {
  const OwnProcessor others;
  ManagedMemory memory = Must(ManagedMemory::Create(context, options));
  Random random(1);
  for (size_t at = 0; at < memory.bytes().size(); at += sizeof(uint64_t)) {
    const uint64_t word = random.Next64();
    std::memcpy(&memory.bytes()[at], &word, sizeof(word));
  }
  return memory;
}

}  // namespace verbena::bench
