#pragma once

#include <linux/userfaultfd.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "base/file_descriptor.h"

namespace verbena::managed {

// A userfaultfd, by the first permitted of three methods: /dev/userfaultfd, the system call,
// the system call for user mode only. Through the first two, system calls that touch absent memory
// wait like any access. Through the third, which is what ordinary users get on most systems, only
// the program's own instructions wait, and a system call gets EFAULT.
struct UffdSource {
  FileDescriptor file;  // not open if no method is permitted; see errno
  const char* method = "";
  bool serves_system_calls = false;

  [[nodiscard]] static UffdSource Open();
};

// One that serves system calls, too, or how the operator can permit one.
[[nodiscard]] ErrorOr<UffdSource> OpenForSystemCalls();

[[nodiscard]] inline uffdio_range RangeOf(std::span<const std::byte> bytes) {
  return {.start = reinterpret_cast<uintptr_t>(bytes.data()), .len = bytes.size()};
}

// Says what is wanted of it, and of which bytes. False, and errno, if the system cannot.
[[nodiscard]] bool AskFor(const UffdSource& source, uint64_t features);
[[nodiscard]] bool Watch(const UffdSource& source, std::span<const std::byte> bytes,
                         uint64_t modes);
// Watches them no more; threads that wait for them go on.
void Unwatch(const FileDescriptor& file, uffdio_range range);

}  // namespace verbena::managed
