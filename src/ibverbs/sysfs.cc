// What some programs ask rdma-core's library for though it is about the system: files that tell
// about devices. There are none about ours.

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <string>

#include "ibverbs/failure.h"

using namespace verbena::ibverbs;  // NOLINT(google-build-using-namespace): C has no other

extern "C" {

const char* ibv_get_sysfs_path() { return "/sys"; }

// The file's first line or so, without its end; its length, or -1.
int ibv_read_sysfs_file(const char* directory, const char* file, char* out, size_t size) try {
  const std::string path = std::string(directory) + "/" + file;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  const ssize_t got = read(fd, out, size);
  close(fd);
  if (got <= 0) return -1;
  auto length = static_cast<size_t>(got);
  if (out[length - 1] == '\n') {
    out[--length] = '\0';
  } else if (length < size) {
    out[length] = '\0';
  } else {
    return -1;  // it does not fit
  }
  return static_cast<int>(length);
} catch (...) {
  return MinusOne(Thrown("ibv_read_sysfs_file"));
}
}
