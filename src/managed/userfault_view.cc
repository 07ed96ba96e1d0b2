#include "managed/userfault_view.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/check.h"

// Younger than the headers of some systems that it runs on.
#ifndef USERFAULTFD_IOC_NEW
#define USERFAULTFD_IOC_NEW _IO(0xAA, 0x00)
#endif
#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif
#ifndef UFFDIO_CONTINUE_MODE_WP
#define UFFDIO_CONTINUE_MODE_WP (uint64_t{1} << 1)
#endif

namespace verbena::managed {
namespace {

constexpr size_t kPage = 4096;
constexpr int kFlags = O_CLOEXEC | O_NONBLOCK;
constexpr uint64_t kFeatures = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_MISSING_SHMEM |
                               UFFD_FEATURE_MINOR_SHMEM | UFFD_FEATURE_WP_HUGETLBFS_SHMEM;
constexpr uint64_t kModes =
    UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_MINOR | UFFDIO_REGISTER_MODE_WP;

uffdio_range RangeOf(std::span<std::byte> bytes) {
  return {.start = reinterpret_cast<uintptr_t>(bytes.data()), .len = bytes.size()};
}

int OpenByDevice() {
  const FileDescriptor device(open("/dev/userfaultfd", O_RDWR | O_CLOEXEC));
  return device.is_open() ? ioctl(device.get(), USERFAULTFD_IOC_NEW, kFlags) : -1;
}

int OpenByCall(int flags) { return static_cast<int>(syscall(SYS_userfaultfd, kFlags | flags)); }

}  // namespace

UserfaultView::Door UserfaultView::Open() {
  if (FileDescriptor file(OpenByDevice()); file.is_open()) {
    return {std::move(file), "userfaultfd by /dev/userfaultfd"};
  }
  if (FileDescriptor file(OpenByCall(0)); file.is_open()) {
    return {std::move(file), "userfaultfd by system call"};
  }
  return {FileDescriptor(OpenByCall(UFFD_USER_MODE_ONLY)),
          "userfaultfd for user mode only: system calls on absent memory fail with EFAULT"};
}

ErrorOr<std::unique_ptr<CpuView>> UserfaultView::Make(std::span<std::byte> bytes,
                                                      PageShift granule) {
  Door door = Open();
  if (!door.file.is_open()) return Fail(SystemError("userfaultfd"));
  uffdio_api api{.api = UFFD_API, .features = kFeatures, .ioctls = 0};
  if (ioctl(door.file.get(), UFFDIO_API, &api) != 0) {
    return Fail(SystemError("userfaultfd for shared memory (Linux 5.19)"));
  }
  uffdio_register registration{.range = RangeOf(bytes), .mode = kModes, .ioctls = 0};
  if (ioctl(door.file.get(), UFFDIO_REGISTER, &registration) != 0) {
    return Fail(SystemError("userfaultfd for managed memory"));
  }
  return std::unique_ptr<CpuView>(new UserfaultView(std::move(door), bytes, granule));
}

void UserfaultView::Unmap(paging::Run run) {
  const std::span<std::byte> bytes = BytesOf(run);
  // The program may have unmapped it itself: then there is nothing to be seen either.
  while (madvise(bytes.data(), bytes.size(), MADV_DONTNEED) != 0 && errno == EAGAIN) {
  }
  Admit(run);
}

void UserfaultView::Map(paging::Run run, bool is_writable) {
  Admit(run);
  const std::span<std::byte> bytes = BytesOf(run);
  if (Show(bytes, is_writable)) return;
  // Some were shown before, perhaps in another way, and nobody was woken for them.
  Protect(bytes, is_writable);
  Wake(run);
}

void UserfaultView::Refuse(paging::Run run) {
  const std::span<std::byte> bytes = BytesOf(run);
  mprotect(bytes.data(), bytes.size(), PROT_NONE);
  for (uint32_t i = run.first; i < run.end(); ++i) {
    refused_count_ += !is_refused_[i];
    is_refused_[i] = true;
  }
  Wake(run);
}

void UserfaultView::Wake(paging::Run run) {
  uffdio_range range = RangeOf(BytesOf(run));
  ioctl(file_.get(), UFFDIO_WAKE, &range);
}

size_t UserfaultView::TakeFaults(std::span<CpuFault> faults) {
  std::array<uffd_msg, 32> messages;
  const size_t room = std::min(messages.size(), faults.size());
  ssize_t length = 0;
  do {
    length = read(file_.get(), messages.data(), room * sizeof messages[0]);
  } while (length < 0 && errno == EINTR);
  const size_t taken = length > 0 ? static_cast<size_t>(length) / sizeof messages[0] : 0;
  size_t count = 0;
  for (const uffd_msg& message : std::span(messages).first(taken)) {
    if (message.event != UFFD_EVENT_PAGEFAULT) continue;
    const auto& fault = message.arg.pagefault;
    const uint64_t offset = fault.address - reinterpret_cast<uintptr_t>(bytes_.data());
    CHECK(offset < bytes_.size());
    faults[count++] = {.granule = static_cast<uint32_t>(offset >> granule_.value()),
                       .is_write = (fault.flags & UFFD_PAGEFAULT_FLAG_WRITE) != 0};
  }
  return count;
}

// Protected before it is let go, so that a thread that waits never sees what is in the file.
void UserfaultView::Stop() {
  if (has_stopped_) return;
  has_stopped_ = true;
  mprotect(bytes_.data(), bytes_.size(), PROT_NONE);
  uffdio_range range = RangeOf(bytes_);
  ioctl(file_.get(), UFFDIO_UNREGISTER, &range);
}

std::span<std::byte> UserfaultView::BytesOf(paging::Run run) const {
  return bytes_.subspan(uint64_t{run.first} * granule_.bytes(), run.count * granule_.bytes());
}

// Makes accessible what was refused.
void UserfaultView::Admit(paging::Run run) {
  if (refused_count_ == 0) return;
  for (uint32_t i = run.first; i < run.end(); ++i) {
    if (!is_refused_[i]) continue;
    const std::span<std::byte> bytes = BytesOf({i, 1});
    mprotect(bytes.data(), bytes.size(), PROT_READ | PROT_WRITE);
    is_refused_[i] = false;
    --refused_count_;
  }
}

// True if all pages were absent and now are not, and those who waited were woken.
bool UserfaultView::Show(std::span<std::byte> bytes, bool is_writable) const {
  bool were_absent = true;
  while (!bytes.empty()) {
    uffdio_continue request{
        .range = RangeOf(bytes), .mode = is_writable ? 0 : UFFDIO_CONTINUE_MODE_WP, .mapped = 0};
    if (ioctl(file_.get(), UFFDIO_CONTINUE, &request) == 0) return were_absent;
    if (errno == EAGAIN) {
      // Part of it, or the program is changing its mappings just now.
      if (request.mapped > 0) bytes = bytes.subspan(static_cast<size_t>(request.mapped));
    } else if (errno == EEXIST) {
      were_absent = false;
      bytes = bytes.subspan(kPage);
    } else if (errno == EFAULT) {
      if (!FillHole(bytes.data())) return false;
    } else {
      return false;  // the program has unmapped it, or is at its end
    }
  }
  return were_absent;
}

void UserfaultView::Protect(std::span<std::byte> bytes, bool is_writable) const {
  uffdio_writeprotect request{.range = RangeOf(bytes),
                              .mode = is_writable ? 0 : UFFDIO_WRITEPROTECT_MODE_WP};
  while (ioctl(file_.get(), UFFDIO_WRITEPROTECT, &request) != 0 && errno == EAGAIN) {
  }
}

// The program has punched a hole into the file, by MADV_REMOVE: it wants zeros there.
bool UserfaultView::FillHole(std::byte* page) const {
  uffdio_zeropage request{
      .range = RangeOf({page, kPage}), .mode = UFFDIO_ZEROPAGE_MODE_DONTWAKE, .zeropage = 0};
  while (ioctl(file_.get(), UFFDIO_ZEROPAGE, &request) != 0) {
    if (errno != EAGAIN) return errno == EEXIST;
  }
  return true;
}

}  // namespace verbena::managed
