// Calls for attributes and permissions of files.

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "preload/calls/next.h"
#include "preload/calls/redirected.h"

namespace verbena::preload {
namespace {

constinit Next<int(const char*, struct stat*)> next_stat("stat");
constinit Next<int(const char*, struct stat*)> next_lstat("lstat");
constinit Next<int(int, const char*, struct stat*, int)> next_fstatat("fstatat");
constinit Next<int(int, const char*, int, unsigned, struct statx*)> next_statx("statx");
constinit Next<int(const char*, int)> next_access("access");
constinit Next<int(const char*, int)> next_eaccess("eaccess");
constinit Next<int(int, const char*, int, int)> next_faccessat("faccessat");
constinit Next<ssize_t(const char*, const char*, void*, size_t)> next_getxattr("getxattr");
constinit Next<ssize_t(const char*, const char*, void*, size_t)> next_lgetxattr("lgetxattr");

// For the device node, replaces mode and device number of /dev/null by its own.
int WithDeviceNode(int result, const Redirected& file, struct stat* out) {
  if (result != 0 || !file.is_device()) return result;
  out->st_mode = S_IFCHR | 0666;
  out->st_rdev = makedev(kDeviceMajor, kDeviceMinor);
  return 0;
}

int Stat(const char* path, struct stat* out) {
  const Redirected file(path);
  return WithDeviceNode(next_stat(file.path(), out), file, out);
}

int Lstat(const char* path, struct stat* out) {
  const Redirected file(path);
  return WithDeviceNode(next_lstat(file.path(), out), file, out);
}

int Fstatat(int folder, const char* path, struct stat* out, int flags) {
  const Redirected file(path);
  return WithDeviceNode(next_fstatat(folder, file.path(), out, flags), file, out);
}

// On the supported machines both structures are the same.
static_assert(sizeof(struct stat) == sizeof(struct stat64));
struct stat* Same(struct stat64* out) {
  return reinterpret_cast<struct stat*>(out);
}

}  // namespace
}  // namespace verbena::preload

using namespace verbena::preload;  // NOLINT(google-build-using-namespace): the verbs are global

VERBENA_INTERPOSED int stat(const char* path, struct stat* out) noexcept { return Stat(path, out); }
VERBENA_INTERPOSED int stat64(const char* path, struct stat64* out) noexcept {
  return Stat(path, Same(out));
}
VERBENA_INTERPOSED int lstat(const char* path, struct stat* out) noexcept {
  return Lstat(path, out);
}
VERBENA_INTERPOSED int lstat64(const char* path, struct stat64* out) noexcept {
  return Lstat(path, Same(out));
}
VERBENA_INTERPOSED int fstatat(int folder, const char* path, struct stat* out, int flags) noexcept {
  return Fstatat(folder, path, out, flags);
}
VERBENA_INTERPOSED int fstatat64(int folder, const char* path, struct stat64* out,
                                 int flags) noexcept {
  return Fstatat(folder, path, Same(out), flags);
}

// Programs that were linked before the C library had the functions above call these.
VERBENA_INTERPOSED int __xstat(int /*version*/, const char* path, struct stat* out) {
  return Stat(path, out);
}
VERBENA_INTERPOSED int __xstat64(int /*version*/, const char* path, struct stat64* out) {
  return Stat(path, Same(out));
}
VERBENA_INTERPOSED int __lxstat(int /*version*/, const char* path, struct stat* out) {
  return Lstat(path, out);
}
VERBENA_INTERPOSED int __lxstat64(int /*version*/, const char* path, struct stat64* out) {
  return Lstat(path, Same(out));
}
VERBENA_INTERPOSED int __fxstatat(int /*version*/, int folder, const char* path, struct stat* out,
                                  int flags) {
  return Fstatat(folder, path, out, flags);
}
VERBENA_INTERPOSED int __fxstatat64(int /*version*/, int folder, const char* path,
                                    struct stat64* out, int flags) {
  return Fstatat(folder, path, Same(out), flags);
}

VERBENA_INTERPOSED int statx(int folder, const char* path, int flags, unsigned mask,
                             struct statx* out) noexcept {
  const Redirected file(path);
  const int result = next_statx(folder, file.path(), flags, mask, out);
  if (result != 0 || !file.is_device()) return result;
  out->stx_mode = S_IFCHR | 0666;
  out->stx_rdev_major = kDeviceMajor;
  out->stx_rdev_minor = kDeviceMinor;
  return 0;
}

VERBENA_INTERPOSED int access(const char* path, int mode) noexcept {
  const Redirected file(path);
  return next_access(file.path(), mode);
}
VERBENA_INTERPOSED int eaccess(const char* path, int mode) noexcept {
  const Redirected file(path);
  return next_eaccess(file.path(), mode);
}
VERBENA_INTERPOSED int euidaccess(const char* path, int mode) noexcept {
  const Redirected file(path);
  return next_eaccess(file.path(), mode);
}
VERBENA_INTERPOSED int faccessat(int folder, const char* path, int mode, int flags) noexcept {
  const Redirected file(path);
  return next_faccessat(folder, file.path(), mode, flags);
}

// `ls` reads these to see whether a file has an ACL.
VERBENA_INTERPOSED ssize_t getxattr(const char* path, const char* name, void* out,
                                    size_t size) noexcept {
  const Redirected file(path);
  return next_getxattr(file.path(), name, out, size);
}
VERBENA_INTERPOSED ssize_t lgetxattr(const char* path, const char* name, void* out,
                                     size_t size) noexcept {
  const Redirected file(path);
  return next_lgetxattr(file.path(), name, out, size);
}
