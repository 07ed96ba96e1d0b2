// ibv_get_sysfs_path and ibv_read_sysfs_file, with which programs read the files of a device. Files
// of our device can be read even if the program was not started by `verbena run`.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "base/file_descriptor.h"
#include "ibverbs/failure.h"
#include "ibverbs/query/device_tree_source.h"

namespace verbena::ibverbs {
namespace {

// The number of bytes read; -1 if there is no such file.
ssize_t Read(const std::string& path, char* out, size_t size) {
  if (const auto text = ReadDeviceFile(path)) {
    const size_t length = std::min(text->size(), size);
    std::copy_n(text->data(), length, out);
    return static_cast<ssize_t>(length);
  }
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file.is_open() ? read(file.get(), out, size) : -1;
}

}  // namespace
}  // namespace verbena::ibverbs

using namespace verbena::ibverbs;  // NOLINT(google-build-using-namespace): the verbs are global

extern "C" {

const char* ibv_get_sysfs_path() { return "/sys"; }

// Reads at most `size` bytes of the file and strips a final newline. Returns the length, or -1.
int ibv_read_sysfs_file(const char* directory, const char* file, char* out, size_t size) try {
  const ssize_t got = Read(std::string(directory) + "/" + file, out, size);
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
