#pragma once

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "base/file_descriptor.h"
#include "base/random.h"
#include "bench/fault_memory.h"
#include "bench/fault_world.h"

// What the system does for a page fault of managed memory, without Verbena.

namespace verbena::bench {

// A thread that replaces a page of shared memory whenever it is woken: it writes the oldest page to
// a file in the system's cache, gives it back, and reads another page into memory. The process has
// the memory mapped, so that giving a page back interrupts the processor that polls.
class BarePager {
 public:
  BarePager() {
    MustCall(memory_.get() >= 0 && swap_.get() >= 0 && wake_.get() >= 0, "memfd_create or eventfd");
    MustCall(ftruncate(memory_.get(), kBytes) == 0 && ftruncate(swap_.get(), kBytes) == 0,
             "ftruncate");
    view_ = static_cast<std::byte*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0));
    MustCall(view_ != MAP_FAILED, "mmap");
    std::array<std::byte, kPage> page{};
    for (off_t at = 0; at < off_t{kBytes}; at += kPage) {
      MustCall(pwrite(swap_.get(), page.data(), kPage, at) == kPage, "pwrite");
    }
    for (off_t& at : resident_) at = BringIn();
    const OwnProcessor others;
    thread_ = std::thread([this] { Run(); });
  }
  BarePager(const BarePager&) = delete;
  BarePager& operator=(const BarePager&) = delete;
  ~BarePager() {
    Wake(kStop);
    thread_.join();
    munmap(view_, kBytes);
  }

  void ReplaceOne() const { Wake(1); }

 private:
  static constexpr size_t kBytes = size_t{64} << 20;
  static constexpr size_t kResident = 256;
  static constexpr uint64_t kStop = uint64_t{1} << 32;

  void Wake(uint64_t count) const {
    MustCall(write(wake_.get(), &count, sizeof count) == sizeof count, "write to an eventfd");
  }

  void Run() {
    uint64_t count = 0;
    while (read(wake_.get(), &count, sizeof count) == sizeof count && count < kStop) {
      for (uint64_t i = 0; i < count; ++i) {
        off_t& oldest = resident_[next_++ % kResident];
        MustCall(pwrite(swap_.get(), view_ + oldest, kPage, oldest) == kPage, "pwrite");
        MustCall(fallocate(memory_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, oldest,
                           kPage) == 0,
                 "fallocate");
        oldest = BringIn();
      }
    }
  }

  // Returns the place of the page.
  off_t BringIn() {
    const auto at = static_cast<off_t>(random_.Below(kBytes / kPage) * kPage);
    MustCall(pread(swap_.get(), view_ + at, kPage, at) == kPage, "pread");
    return at;
  }

  const FileDescriptor memory_{memfd_create("bare-memory", MFD_CLOEXEC)};
  const FileDescriptor swap_{memfd_create("bare-swap", MFD_CLOEXEC)};
  const FileDescriptor wake_{eventfd(0, EFD_CLOEXEC)};
  std::byte* view_ = nullptr;
  Random random_{2};
  std::array<off_t, kResident> resident_{};
  size_t next_ = 0;
  std::thread thread_;
};

}  // namespace verbena::bench
