#include "managed/swap_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/file_size_signal.h"
#include "base/own_file.h"
#include "managed/thread_swap_file.h"
#include "managed/uring_swap_file.h"

namespace verbena::managed {
namespace {

bool IsDirectory(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// Not every file system has O_TMPFILE.
int OpenNamedAndForget(const std::string& directory) {
  std::string name = directory + "/verbena-swap-XXXXXX";
  const int fd = mkostemp(name.data(), O_CLOEXEC);
  if (fd >= 0) unlink(name.c_str());
  return fd;
}

ErrorOr<FileDescriptor> OpenIn(const std::string& directory) {
  int fd = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) fd = OpenNamedAndForget(directory);
  if (fd < 0) return Fail(SystemError("swap in " + directory));
  return FileDescriptor(fd);
}

}  // namespace

ErrorOr<FileDescriptor> OpenSwap(const std::string& path) {
  if (IsDirectory(path)) return OpenIn(path);
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) {
    return Fail(SystemError(errno, "swap file " + path + ": " + std::strerror(errno) +
                                       "; name a directory, or a file that is there"));
  }
  auto file = OpenOwnFile(path, FileUse::kReadWrite);
  if (!file) return Fail(SystemError(EINVAL, "swap file " + file.error().text));
  // Truncated only after the lock is held.
  if (flock(file->get(), LOCK_EX | LOCK_NB) != 0) {
    return Fail(SystemError(EBUSY, "swap file " + path + ": in use by another process"));
  }
  if (ftruncate(file->get(), 0) != 0) return Fail(SystemError("swap file " + path));
  return std::move(*file);
}

uint64_t RoomAt(const std::string& path) {
  constexpr uint64_t kStatBlock = 512;
  struct statvfs disk {};
  struct stat file {};
  if (statvfs(path.c_str(), &disk) != 0 || stat(path.c_str(), &file) != 0) return UINT64_MAX;
  // An existing file will be truncated, which frees its blocks.
  const uint64_t own = S_ISREG(file.st_mode) ? static_cast<uint64_t>(file.st_blocks) : 0;
  return uint64_t{disk.f_bavail} * disk.f_frsize + own * kStatBlock;
}

int ReserveIn(int fd, uint64_t from, uint64_t to) {
  const NoFileSizeSignal no_signal;
  while (fallocate(fd, 0, static_cast<off_t>(from), static_cast<off_t>(to - from)) != 0) {
    if (errno == EINTR) continue;
    if (errno != EOPNOTSUPP) return errno;
    return ftruncate(fd, static_cast<off_t>(to)) == 0 ? 0 : errno;
  }
  return 0;
}

ErrorOr<std::unique_ptr<SwapFile>> MakeSwapFile(const std::string& path, uint32_t under_way_max) {
  ErrorOr<FileDescriptor> file = OpenSwap(path);
  if (!file) return Fail(std::move(file.error()));
  if (auto on_ring = UringSwapFile::Make(*file, under_way_max)) return on_ring;
  return ThreadSwapFile::Make(std::move(*file), under_way_max);
}

}  // namespace verbena::managed
