#include "managed/uffd_source.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

// Missing from the headers of some supported systems.
#ifndef USERFAULTFD_IOC_NEW
#define USERFAULTFD_IOC_NEW _IO(0xAA, 0x00)
#endif

namespace verbena::managed {
namespace {

constexpr int kFlags = O_CLOEXEC | O_NONBLOCK;

int OpenByDevice() {
  const FileDescriptor device(open("/dev/userfaultfd", O_RDWR | O_CLOEXEC));
  return device.is_open() ? ioctl(device.get(), USERFAULTFD_IOC_NEW, kFlags) : -1;
}

int OpenByCall(int flags) { return static_cast<int>(syscall(SYS_userfaultfd, kFlags | flags)); }

}  // namespace

UffdSource UffdSource::Open() {
  if (FileDescriptor file(OpenByDevice()); file.is_open()) {
    return {std::move(file), "userfaultfd by /dev/userfaultfd", true};
  }
  if (FileDescriptor file(OpenByCall(0)); file.is_open()) {
    return {std::move(file), "userfaultfd by system call", true};
  }
  return {FileDescriptor(OpenByCall(UFFD_USER_MODE_ONLY)),
          "userfaultfd for user mode only: system calls on absent memory fail with EFAULT", false};
}

ErrorOr<UffdSource> OpenForSystemCalls() {
  UffdSource source = UffdSource::Open();
  if (source.file.is_open() && source.serves_system_calls) return source;
  return Fail(
      SystemError(EPERM,
                  "the system lets this user have no userfaultfd that serves system calls, too; "
                  "give access to /dev/userfaultfd, or set sysctl vm.unprivileged_userfaultfd=1"));
}

bool AskFor(const UffdSource& source, uint64_t features) {
  uffdio_api api{.api = UFFD_API, .features = features, .ioctls = 0};
  return ioctl(source.file.get(), UFFDIO_API, &api) == 0;
}

bool Watch(const UffdSource& source, std::span<const std::byte> bytes, uint64_t modes) {
  uffdio_register registration{.range = RangeOf(bytes), .mode = modes, .ioctls = 0};
  return ioctl(source.file.get(), UFFDIO_REGISTER, &registration) == 0;
}

// The system wakes waiting threads, and then unregisters. Since Linux 6.4, with locks for each
// mapping, a thread may begin to wait in between, and would wait for ever.
void Unwatch(const FileDescriptor& file, uffdio_range range) {
  ioctl(file.get(), UFFDIO_UNREGISTER, &range);
  ioctl(file.get(), UFFDIO_WAKE, &range);
}

}  // namespace verbena::managed
