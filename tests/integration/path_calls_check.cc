// Calls every function of the C library that takes a path, with a device file and with another
// file. Under `verbena run` the device file must exist, and calls on other files must be
// unaffected.

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>

#include <climits>

namespace {

constexpr const char* kDevice = "/dev/infiniband/uverbs0";
constexpr const char* kFolder = "/sys/class/infiniband/verbena0";
constexpr const char* kFile = "/sys/class/infiniband/verbena0/node_type";
constexpr const char* kText = "1: CA\n";
constexpr const char* kFunction = "/sys/devices/pci7665:00/7665:00:00.0";

int failures = 0;

void Check(bool right, const char* what) {
  if (right) return;
  ++failures;
  std::printf("wrong: %s\n", what);
}

// A function by its name, for functions that the headers do not declare, or declare differently.
template <class Function>
Function* Named(const char* name) {
  void* const found = dlsym(RTLD_DEFAULT, name);
  Check(found != nullptr, name);
  return reinterpret_cast<Function*>(found);
}

bool Holds(int file, const char* text) {
  char found[64] = {};
  const bool right =
      file >= 0 && read(file, found, sizeof found - 1) > 0 && std::strcmp(found, text) == 0;
  if (file >= 0) close(file);
  return right;
}

bool Holds(FILE* file, const char* text) {
  char found[64] = {};
  const bool right = file != nullptr && std::fgets(found, sizeof found, file) != nullptr &&
                     std::strcmp(found, text) == 0;
  if (file != nullptr) std::fclose(file);
  return right;
}

void CheckOpen() {
  for (const char* const name : {"open", "open64"}) {
    auto* const call = Named<int(const char*, int, ...)>(name);
    Check(Holds(call(kFile, O_RDONLY), kText), name);
    Check(call("/no/such/file", O_RDONLY) == -1 && errno == ENOENT, name);
    const int made = call("path_calls_check.tmp", O_WRONLY | O_CREAT | O_TRUNC, 0640);
    struct stat found = {};
    Check(made >= 0 && fstat(made, &found) == 0 && (found.st_mode & 0777) == 0640, name);
    close(made);
    unlink("path_calls_check.tmp");
  }
  for (const char* const name : {"openat", "openat64"}) {
    auto* const call = Named<int(int, const char*, int, ...)>(name);
    Check(Holds(call(AT_FDCWD, kFile, O_RDONLY), kText), name);
    const int folder = call(AT_FDCWD, kFolder, O_RDONLY | O_DIRECTORY);
    Check(Holds(call(folder, "node_type", O_RDONLY), kText), name);
    close(folder);
  }
  for (const char* const name : {"__open_2", "__open64_2"}) {
    Check(Holds(Named<int(const char*, int)>(name)(kFile, O_RDONLY), kText), name);
  }
  for (const char* const name : {"__openat_2", "__openat64_2"}) {
    Check(Holds(Named<int(int, const char*, int)>(name)(AT_FDCWD, kFile, O_RDONLY), kText), name);
  }
  const int device = open(kDevice, O_RDWR | O_CLOEXEC);
  Check(device >= 0, "open the device");
  close(device);
}

void CheckStreams() {
  for (const char* const name : {"fopen", "fopen64"}) {
    Check(Holds(Named<FILE*(const char*, const char*)>(name)(kFile, "r"), kText), name);
  }
  for (const char* const name : {"freopen", "freopen64"}) {
    auto* const call = Named<FILE*(const char*, const char*, FILE*)>(name);
    Check(Holds(call(kFile, "r", std::fopen("/dev/zero", "r")), kText), name);
  }
  std::string line;
  std::getline(std::ifstream(kFile), line);
  Check(line + "\n" == kText, "std::ifstream");
}

bool IsDevice(const struct stat& found) {
  return S_ISCHR(found.st_mode) && found.st_rdev == makedev(231, 192);
}

void CheckStatCall(const char* name, const std::function<int(const char*, struct stat*)>& call) {
  struct stat found = {};
  Check(call(kDevice, &found) == 0 && IsDevice(found), name);
  Check(call(kFile, &found) == 0 && S_ISREG(found.st_mode), name);
  Check(call("/dev/zero", &found) == 0 && found.st_rdev == makedev(1, 5), name);
  Check(call("/dev/infiniband/uverbs1", &found) == -1 && errno == ENOENT, name);
}

void CheckStat() {
  for (const char* const name : {"stat", "stat64", "lstat", "lstat64"}) {
    CheckStatCall(name, Named<int(const char*, struct stat*)>(name));
  }
  for (const char* const name : {"__xstat", "__xstat64", "__lxstat", "__lxstat64"}) {
    auto* const call = Named<int(int, const char*, struct stat*)>(name);
    CheckStatCall(name, [&](const char* path, struct stat* out) { return call(1, path, out); });
  }
  for (const char* const name : {"fstatat", "fstatat64"}) {
    auto* const call = Named<int(int, const char*, struct stat*, int)>(name);
    CheckStatCall(name,
                  [&](const char* path, struct stat* out) { return call(AT_FDCWD, path, out, 0); });
  }
  for (const char* const name : {"__fxstatat", "__fxstatat64"}) {
    auto* const call = Named<int(int, int, const char*, struct stat*, int)>(name);
    CheckStatCall(
        name, [&](const char* path, struct stat* out) { return call(1, AT_FDCWD, path, out, 0); });
  }
  struct statx found = {};
  Check(statx(AT_FDCWD, kDevice, 0, STATX_BASIC_STATS, &found) == 0 && S_ISCHR(found.stx_mode) &&
            found.stx_rdev_major == 231 && found.stx_rdev_minor == 192,
        "statx");
  struct stat link = {};
  Check(lstat(kFolder, &link) == 0 && S_ISLNK(link.st_mode), "lstat of a link");
}

void CheckAccess() {
  for (const char* const name : {"access", "eaccess", "euidaccess"}) {
    auto* const call = Named<int(const char*, int)>(name);
    Check(call(kDevice, R_OK | W_OK) == 0, name);
    Check(call(kFile, R_OK) == 0, name);
    Check(call("/no/such/file", F_OK) == -1, name);
  }
  Check(faccessat(AT_FDCWD, kDevice, R_OK | W_OK, 0) == 0, "faccessat");
  Check(getxattr(kFile, "user.none", nullptr, 0) == -1 && errno != ENOENT, "getxattr");
  Check(lgetxattr(kFile, "user.none", nullptr, 0) == -1 && errno != ENOENT, "lgetxattr");
}

void CheckFolders() {
  DIR* const folder = opendir("/dev/infiniband");
  Check(folder != nullptr, "opendir");
  std::string names;
  for (const dirent* entry; folder != nullptr && (entry = readdir(folder)) != nullptr;) {
    names += std::string(entry->d_name) + " ";
  }
  if (folder != nullptr) closedir(folder);
  Check(names.find("uverbs0 ") != std::string::npos, "readdir");
  for (const char* const name : {"scandir", "scandir64"}) {
    dirent** found = nullptr;
    auto* const call = Named<int(const char*, dirent***, void*, void*)>(name);
    Check(call(kFolder, &found, nullptr, nullptr) > 2, name);
  }
  for (const char* const name : {"scandirat", "scandirat64"}) {
    dirent** found = nullptr;
    auto* const call = Named<int(int, const char*, dirent***, void*, void*)>(name);
    Check(call(AT_FDCWD, kFolder, &found, nullptr, nullptr) > 2, name);
  }
  for (const char* const name : {"glob", "glob64"}) {
    glob_t found = {};
    found.gl_offs = 2;
    auto* const call = Named<int(const char*, int, void*, glob_t*)>(name);
    Check(call("/sys/class/infiniband/*/ports/1/state", GLOB_DOOFFS, nullptr, &found) == 0 &&
              found.gl_pathc == 1 &&
              std::strcmp(found.gl_pathv[2], "/sys/class/infiniband/verbena0/ports/1/state") == 0,
          name);
  }
  Check(chdir(kFolder) == 0 && Holds(open("node_type", O_RDONLY), kText), "chdir");
  Check(chdir("/") == 0, "chdir elsewhere");
}

void CheckNames() {
  char out[PATH_MAX] = {};
  const std::string target = "../../devices/pci7665:00/7665:00:00.0/infiniband/verbena0";
  const auto leads = [&](ssize_t length) {
    return length >= 0 && std::string(out, out + length) == target;
  };
  Check(leads(readlink(kFolder, out, sizeof out)), "readlink");
  Check(leads(readlinkat(AT_FDCWD, kFolder, out, sizeof out)), "readlinkat");
  Check(leads(Named<ssize_t(const char*, char*, size_t, size_t)>("__readlink_chk")(
            kFolder, out, sizeof out, sizeof out)),
        "__readlink_chk");
  Check(leads(Named<ssize_t(int, const char*, char*, size_t, size_t)>("__readlinkat_chk")(
            AT_FDCWD, kFolder, out, sizeof out, sizeof out)),
        "__readlinkat_chk");
  const std::string device = std::string(kFolder) + "/device";
  Check(realpath(device.c_str(), out) == out && std::strcmp(out, kFunction) == 0, "realpath");
  Check(realpath(kDevice, out) == out && std::strcmp(out, kDevice) == 0, "realpath of the device");
  Check(realpath("/dev/../dev/zero", out) == out && std::strcmp(out, "/dev/zero") == 0,
        "realpath of others");
  Check(Named<char*(const char*, char*, size_t)>("__realpath_chk")(device.c_str(), out,
                                                                   sizeof out) == out &&
            std::strcmp(out, kFunction) == 0,
        "__realpath_chk");
  char* const made = canonicalize_file_name(device.c_str());
  Check(made != nullptr && std::strcmp(made, kFunction) == 0, "canonicalize_file_name");
  free(made);
  char* const own = realpath(kDevice, nullptr);
  Check(own != nullptr && std::strcmp(own, kDevice) == 0, "realpath that allocates");
  free(own);
}

// A null path must give the kernel's error, and must not crash.
void CheckNull() {
  const char* volatile none = nullptr;
  Check(access(none, F_OK) == -1 && errno == EFAULT, "access(null)");
  Check(open(none, O_RDONLY) == -1 && errno == EFAULT, "open(null)");
}

}  // namespace

int main() {
  CheckOpen();
  CheckStreams();
  CheckStat();
  CheckAccess();
  CheckFolders();
  CheckNames();
  CheckNull();
  if (failures == 0) std::puts("every call is right");
  return failures == 0 ? 0 : 1;
}
