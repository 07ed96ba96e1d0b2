#include "base/own_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace verbena {
namespace {

// nullptr for a regular file.
const char* KindOf(mode_t mode) {
  if (S_ISREG(mode)) return nullptr;
  if (S_ISLNK(mode)) return "a symbolic link, which is not followed";
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

// Why a file that is there is not to be written; empty if it may.
std::string WhyNot(const std::string& path, const struct stat& file) {
  if (const char* const kind = KindOf(file.st_mode)) {
    return path + " is " + kind + ": name a regular file, or one that is not there yet";
  }
  const uid_t user = geteuid();
  if (user != 0 && file.st_uid != user) {
    return path + " belongs to another user: name one of your own, or one that is not there yet";
  }
  return "";
}

std::string ErrorAt(const std::string& path) { return path + ": " + std::strerror(errno); }

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

ErrorOr<FileDescriptor> OpenOwnFile(const std::string& path, FileUse use) {
  struct stat before {};
  if (lstat(path.c_str(), &before) == 0) {
    if (std::string why = WhyNot(path, before); !why.empty()) {
      return Fail(SystemError(EACCES, std::move(why)));
    }
  }
  // What takes its place from here on is not followed, does not hang, and is looked at again.
  constexpr int kCareful = O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  constexpr mode_t kMode = 0600;
  const int flags = use == FileUse::kAppend ? O_WRONLY | O_APPEND : O_RDWR;
  FileDescriptor file(open(path.c_str(), flags | kCareful, kMode));
  if (!file.is_open()) return Fail(SystemError(path));
  struct stat opened {};
  if (fstat(file.get(), &opened) != 0) return Fail(SystemError(path));
  if (std::string why = WhyNot(path, opened); !why.empty()) {
    return Fail(SystemError(EACCES, std::move(why)));
  }
  return file;
}

std::string WhyNoOwnFile(const std::string& path) {
  struct stat file {};
  if (lstat(path.c_str(), &file) == 0) {
    if (std::string why = WhyNot(path, file); !why.empty()) return why;
    return access(path.c_str(), W_OK) == 0 ? "" : ErrorAt(path);
  }
  if (errno != ENOENT) return ErrorAt(path);
  const std::string folder = FolderOf(path);
  if (access(folder.c_str(), W_OK | X_OK) == 0) return "";
  return path + " is not there, and cannot be made in " + ErrorAt(folder);
}

}  // namespace verbena
