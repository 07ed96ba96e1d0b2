// Calls that resolve names: readlink and realpath.

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>

#include "preload/calls/next.h"
#include "preload/calls/redirected.h"

namespace verbena::preload {
namespace {

constinit Next<ssize_t(const char*, char*, size_t)> next_readlink("readlink");
constinit Next<ssize_t(int, const char*, char*, size_t)> next_readlinkat("readlinkat");
constinit Next<char*(const char*, char*)> next_realpath("realpath");

ssize_t Readlink(const char* path, char* out, size_t size) {
  const Redirected link(path);
  return next_readlink(link.path(), out, size);
}

ssize_t Readlinkat(int folder, const char* path, char* out, size_t size) {
  const Redirected link(path);
  return next_readlinkat(folder, link.path(), out, size);
}

// The result is a path as the program sees the tree, without the root of the tree.
char* Realpath(const char* path, char* out) {
  const Redirected file(path);
  char* const found = next_realpath(file.path(), out);
  if (found == nullptr || !file.is_ours()) return found;
  if (!file.is_device()) {
    StripRoot(found, TreeRoot());
    return found;
  }
  if (out == nullptr) {
    free(found);
    return strndup(kDevicePath.data(), kDevicePath.size());
  }
  memcpy(out, kDevicePath.data(), kDevicePath.size());
  out[kDevicePath.size()] = '\0';
  return out;
}

// The fortified calls abort if the buffer is too small, as those of the C library do.
void Check(bool fits) {
  if (!fits) abort();
}

}  // namespace
}  // namespace verbena::preload

using namespace verbena::preload;  // NOLINT(google-build-using-namespace): the verbs are global

VERBENA_INTERPOSED ssize_t readlink(const char* path, char* out, size_t size) noexcept {
  return Readlink(path, out, size);
}
VERBENA_INTERPOSED ssize_t __readlink_chk(const char* path, char* out, size_t size, size_t room) {
  Check(size <= room);
  return Readlink(path, out, size);
}
VERBENA_INTERPOSED ssize_t readlinkat(int folder, const char* path, char* out,
                                      size_t size) noexcept {
  return Readlinkat(folder, path, out, size);
}
VERBENA_INTERPOSED ssize_t __readlinkat_chk(int folder, const char* path, char* out, size_t size,
                                            size_t room) {
  Check(size <= room);
  return Readlinkat(folder, path, out, size);
}

VERBENA_INTERPOSED char* realpath(const char* path, char* out) noexcept {
  return Realpath(path, out);
}
VERBENA_INTERPOSED char* __realpath_chk(const char* path, char* out, size_t room) {
  Check(room >= PATH_MAX);
  return Realpath(path, out);
}
VERBENA_INTERPOSED char* canonicalize_file_name(const char* path) noexcept {
  return Realpath(path, nullptr);
}
