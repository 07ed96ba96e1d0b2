// Calls that open files.

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cstring>

#include "preload/calls/generated_file.h"
#include "preload/calls/next.h"
#include "preload/calls/redirected.h"

namespace verbena::preload {
namespace {

constinit Next<int(const char*, int, mode_t)> next_open("open");
constinit Next<int(int, const char*, int, mode_t)> next_openat("openat");
constinit Next<FILE*(const char*, const char*)> next_fopen("fopen");
constinit Next<FILE*(const char*, const char*, FILE*)> next_freopen("freopen");

int Open(const char* path, int flags, mode_t mode) {
  const Redirected file(path);
  if (file.is_ours()) {
    if (const int made = OpenGenerated(path, flags); made >= 0) return made;
  }
  return next_open(file.path(), flags, mode);
}

int Openat(int folder, const char* path, int flags, mode_t mode) {
  const Redirected file(path);
  if (file.is_ours()) {
    if (const int made = OpenGenerated(path, flags); made >= 0) return made;
  }
  return next_openat(folder, file.path(), flags, mode);
}

// Only the flags that OpenGenerated looks at: a file of the device is only read.
int FlagsOf(const char* mode) {
  if (mode[0] != 'r' || std::strchr(mode, '+') != nullptr) return O_RDWR;
  return O_RDONLY | (std::strchr(mode, 'e') != nullptr ? O_CLOEXEC : 0);
}

FILE* Stream(int file, const char* mode) {
  FILE* const stream = fdopen(file, mode);
  if (stream == nullptr) close(file);
  return stream;
}

FILE* Fopen(const char* path, const char* mode) {
  const Redirected file(path);
  if (file.is_ours()) {
    if (const int made = OpenGenerated(path, FlagsOf(mode)); made >= 0) return Stream(made, mode);
  }
  return next_fopen(file.path(), mode);
}

// open has a mode argument only with these flags. Reading it otherwise is undefined.
mode_t ModeOf(int flags, va_list arguments) {
  const bool creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return creates ? va_arg(arguments, mode_t) : 0;
}

}  // namespace
}  // namespace verbena::preload

using namespace verbena::preload;  // NOLINT(google-build-using-namespace): the verbs are global

VERBENA_INTERPOSED int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return Open(path, flags, mode);
}
VERBENA_INTERPOSED int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return Open(path, flags | O_LARGEFILE, mode);
}
VERBENA_INTERPOSED int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return Openat(folder, path, flags, mode);
}
VERBENA_INTERPOSED int openat64(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return Openat(folder, path, flags | O_LARGEFILE, mode);
}

// The fortified calls, to which the compiler turns an open without a mode.
VERBENA_INTERPOSED int __open_2(const char* path, int flags) { return Open(path, flags, 0); }
VERBENA_INTERPOSED int __open64_2(const char* path, int flags) {
  return Open(path, flags | O_LARGEFILE, 0);
}
VERBENA_INTERPOSED int __openat_2(int folder, const char* path, int flags) {
  return Openat(folder, path, flags, 0);
}
VERBENA_INTERPOSED int __openat64_2(int folder, const char* path, int flags) {
  return Openat(folder, path, flags | O_LARGEFILE, 0);
}

VERBENA_INTERPOSED FILE* fopen(const char* path, const char* mode) { return Fopen(path, mode); }
VERBENA_INTERPOSED FILE* fopen64(const char* path, const char* mode) { return Fopen(path, mode); }
VERBENA_INTERPOSED FILE* freopen(const char* path, const char* mode, FILE* stream) {
  const Redirected file(path);
  return next_freopen(file.path(), mode, stream);
}
VERBENA_INTERPOSED FILE* freopen64(const char* path, const char* mode, FILE* stream) {
  return freopen(path, mode, stream);
}
