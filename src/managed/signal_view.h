#pragma once

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/file_descriptor.h"
#include "base/lazy_array.h"
#include "base/page.h"
#include "managed/cpu_view.h"
#include "managed/fault_table.h"

namespace verbena::managed {

// What the program can do with a granule.
enum class ViewRight : uint8_t {
  kNone,     // an access faults, and waits for the pager
  kRead,     // only a write waits
  kWrite,    // nothing waits
  kRefused,  // an access raises SIGSEGV
};

// The program's view where userfaultfd is refused: mprotect takes the right to a granule away, and
// the SIGSEGV handler posts the fault and sleeps until the pager has acted on the granule. The
// handler is SignalGuard's, which asks the views first and passes faults of other memory on to the
// program.
//
// Each border between granules with different rights costs a mapping, and a process has a limited
// number: see GranuleFor. If they run out nevertheless, the whole view is unmapped at once, which
// makes it one mapping; granules that are still needed fault again.
//
// System calls that touch absent memory fail with EFAULT. Threads that block SIGSEGV must not touch
// the view: the kernel ends the process when they fault.
//
// Invariant: a thread sleeps only on the word of its granule's bucket, read before it posted; every
// change for the granule changes the word. So no wake-up is missed. After a wake-up that was meant
// for another granule the instruction faults again.
class SignalView final : public CpuView {
 public:
  static constexpr size_t kViewsMax = 64;

  // Fails when kViewsMax views exist.
  [[nodiscard]] static ErrorOr<std::unique_ptr<CpuView>> Make(std::span<std::byte> bytes,
                                                              PageShift granule);
  ~SignalView() override { Stop(); }

  void Unmap(paging::Run run) override;
  void Map(paging::Run run, bool is_writable) override;
  void Refuse(paging::Run run) override;
  void Wake(paging::Run run) override;
  [[nodiscard]] size_t TakeFaults(std::span<CpuFault> faults) override;
  [[nodiscard]] int fd() const override { return posted_some_.get(); }
  void Stop() override;
  [[nodiscard]] const char* method() const override {
    return "SIGSEGV: system calls on absent memory fail with EFAULT";
  }

  [[nodiscard]] bool Contains(const std::byte* address) const {
    return address >= bytes_.data() && address < bytes_.data() + bytes_.size();
  }

  // For the signal handler: waits until the pager has acted on the granule at `address`. `is_write`
  // is nullopt if the kind of access is not known. False if the access is refused.
  [[nodiscard]] bool Serve(const std::byte* address, std::optional<bool> is_write);

 private:
  static constexpr size_t kBuckets = 64;

  // Granules with the same remainder share a bucket. A wake-up without sleepers costs no system
  // call: a sleeper is counted before the kernel compares the word, and a waker reads the count
  // after it has changed the word.
  struct Bucket {
    std::atomic<uint32_t> word = 0;
    std::atomic<uint32_t> sleepers = 0;
  };
  static void SleepOn(Bucket& bucket, uint32_t value, bool for_a_moment);
  static void WakeAll(Bucket& bucket);

  SignalView(FileDescriptor posted_some, std::span<std::byte> bytes, PageShift granule)
      : posted_some_(std::move(posted_some)),
        bytes_(bytes),
        granule_(granule),
        rights_(bytes.size() >> granule.value()) {}

  [[nodiscard]] std::span<std::byte> BytesOf(paging::Run run) const;
  [[nodiscard]] Bucket& BucketOf(uint32_t granule) { return buckets_[granule % kBuckets]; }
  void Set(paging::Run run, int protection, ViewRight right);

  const FileDescriptor posted_some_;  // an eventfd
  const std::span<std::byte> bytes_;
  const PageShift granule_;
  FaultTable faults_;
  LazyArray<std::atomic<ViewRight>> rights_;  // written by the pager, read by handlers
  std::array<Bucket, kBuckets> buckets_;
  std::atomic<bool> has_stopped_ = false;
  const pid_t owner_ = getpid();  // a forked child has no pager to wake it
};

}  // namespace verbena::managed
