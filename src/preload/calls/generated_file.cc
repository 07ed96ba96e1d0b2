#include "preload/calls/generated_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

#include "preload/calls/next.h"

namespace verbena::preload {
namespace {

using Source = long(const char* path, char* out, size_t size);

constinit std::atomic<Source*> source = nullptr;

int FileOf(const char* text, size_t length, bool close_on_exec) {
  const int file = memfd_create("verbena-device-file", close_on_exec ? MFD_CLOEXEC : 0);
  if (file < 0) return -1;
  // pwrite leaves the file position at 0, where the program starts to read.
  if (pwrite(file, text, length, 0) == static_cast<ssize_t>(length)) return file;
  close(file);
  return -1;
}

}  // namespace

int OpenGenerated(const char* path, int flags) {
  constexpr size_t kTextMax = 4'096;  // the limit of sysfs files in the kernel
  Source* const read = source.load(std::memory_order_acquire);
  const bool only_reads = (flags & O_ACCMODE) == O_RDONLY;
  if (read == nullptr || !only_reads || (flags & (O_PATH | O_DIRECTORY | O_CREAT)) != 0) return -1;
  const int error = errno;
  char text[kTextMax];
  const long length = read(path, text, sizeof text);
  const int file =
      length < 0 ? -1 : FileOf(text, static_cast<size_t>(length), (flags & O_CLOEXEC) != 0);
  errno = error;
  return file;
}

}  // namespace verbena::preload

// Called by libibverbs.so.1 when it is loaded into the process. `read` writes the contents of the
// file at `path`, as given by the program, to `out` and returns their length, or -1 if it has no
// such file. Any thread calls `read`, and it stays valid until the process ends.
VERBENA_INTERPOSED void verbena_set_device_file_source(long (*read)(const char* path, char* out,
                                                                    size_t size)) {
  verbena::preload::source.store(read, std::memory_order_release);
}
