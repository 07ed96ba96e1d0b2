#include "ibverbs/query/device_tree_writer.h"

#include <fcntl.h>
#include <fts.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string_view>
#include <system_error>

#include "base/file_descriptor.h"
#include "base/result.h"
#include "ibverbs/failure.h"

namespace verbena::ibverbs {
namespace {

namespace fs = std::filesystem;

// Readable for all users, as in /sys: a program can start as one user and continue as another.
constexpr mode_t kFileMode = 0444;
constexpr mode_t kFolderMode = 0755;

// Whether the file exists with this text.
bool Holds(const std::string& path, std::string_view text) {
  constexpr size_t kTextMax = 4'096;
  std::array<char, kTextMax> found;
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.is_open()) return false;
  const ssize_t length = read(file.get(), found.data(), found.size());
  return length >= 0 && std::string_view(found.data(), static_cast<size_t>(length)) == text;
}

bool LeadsTo(const std::string& path, const std::string& target) {
  std::error_code failed;
  return fs::read_symlink(path, failed) == target && !failed;
}

// Writes a tree below one root. A new file or link is made in a temporary folder there (the
// workshop) and renamed to its place.
class Writer {
 public:
  explicit Writer(std::string root) : root_(std::move(root)) {}
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() {
    if (workshop_.empty()) return;
    unlink(fresh_.c_str());  // exists only if something failed
    rmdir(workshop_.c_str());
  }

  ErrorOr<void> Write(const DeviceTree& tree) {
    if (const auto ok = MakeFolders(root_); !ok) return ok;
    for (const DeviceFile& file : tree.files) {
      if (const auto ok = Write(file); !ok) return ok;
    }
    for (const DeviceLink& link : tree.links) {
      if (const auto ok = Write(link); !ok) return ok;
    }
    RemoveOthers(tree);
    return {};
  }

 private:
  ErrorOr<void> Write(const DeviceFile& file) {
    const std::string path = root_ + file.path;
    if (Holds(path, file.text)) return {};
    return Replace(path, [&](const std::string& fresh) {
      const FileDescriptor out(
          open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode));
      return out.is_open() && fchmod(out.get(), kFileMode) == 0 &&
             write(out.get(), file.text.data(), file.text.size()) ==
                 static_cast<ssize_t>(file.text.size());
    });
  }

  ErrorOr<void> Write(const DeviceLink& link) {
    const std::string path = root_ + link.path;
    if (LeadsTo(path, link.target)) return {};
    return Replace(path, [&](const std::string& fresh) {
      return symlink(link.target.c_str(), fresh.c_str()) == 0;
    });
  }

  template <class Make>
  ErrorOr<void> Replace(const std::string& path, Make make) {
    if (const auto ok = MakeFolders(fs::path(path).parent_path()); !ok) return ok;
    if (const auto ok = OpenWorkshop(); !ok) return ok;
    if (!make(fresh_) || rename(fresh_.c_str(), path.c_str()) != 0) {
      return Fail(SystemError("cannot write " + path));
    }
    return {};
  }

  ErrorOr<void> OpenWorkshop() {
    if (!workshop_.empty()) return {};
    std::string name = root_ + std::string(kWorkshop) + "XXXXXX";
    std::string fresh = name + "/fresh";
    if (mkdtemp(name.data()) == nullptr) return Fail(SystemError("cannot write to " + root_));
    fresh.replace(0, name.size(), name);
    workshop_ = std::move(name);
    fresh_ = std::move(fresh);
    return {};
  }

  static ErrorOr<void> MakeFolders(const fs::path& path) {
    if (MakeFolder(path)) return {};
    if (errno != ENOENT) return Fail(SystemError("cannot make " + path.string()));
    if (const auto ok = MakeFolders(path.parent_path()); !ok) return ok;
    return MakeFolder(path) ? ErrorOr<void>() : Fail(SystemError("cannot make " + path.string()));
  }

  // Readable for all, whatever the umask. True if the folder exists afterwards.
  static bool MakeFolder(const fs::path& path) {
    if (mkdir(path.c_str(), kFolderMode) == 0) return chmod(path.c_str(), kFolderMode) == 0;
    return errno == EEXIST;
  }

  // Removes files that are not in the tree, as those of addresses that are gone. Folders stay,
  // since a reader may be in one. Uses fts, because the walk of std::filesystem ends the program
  // when memory runs out.
  void RemoveOthers(const DeviceTree& tree) {
    std::set<std::string, std::less<>> wanted;
    for (const DeviceFile& file : tree.files) wanted.insert(root_ + file.path);
    for (const DeviceLink& link : tree.links) wanted.insert(root_ + link.path);
    char* const roots[] = {root_.data(), nullptr};
    const std::unique_ptr<FTS, decltype(&fts_close)> walk(
        fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, nullptr), &fts_close);
    if (walk == nullptr) return;
    while (FTSENT* const entry = fts_read(walk.get())) {
      const bool is_folder = entry->fts_info == FTS_D || entry->fts_info == FTS_DP;
      if (is_folder) {
        if (IsWorkshop(entry->fts_path)) fts_set(walk.get(), entry, FTS_SKIP);
      } else if (!wanted.contains(std::string_view(entry->fts_path))) {
        unlink(entry->fts_path);
      }
    }
  }

  // Our temporary folder, or that of another process that writes at the same time.
  [[nodiscard]] bool IsWorkshop(std::string_view path) const {
    return path.starts_with(root_) && path.substr(root_.size()).starts_with(kWorkshop);
  }

  static constexpr std::string_view kWorkshop = "/.new-";

  std::string root_;
  std::string workshop_;  // empty until it is needed
  std::string fresh_;     // the path in it of the file that is being made
};

// A name for the network namespace: each has its own addresses, and so its own tree.
std::string NetworkName() {
  struct stat found = {};
  return "net-" + std::to_string(stat("/proc/self/ns/net", &found) == 0 ? found.st_ino : 0);
}

std::string Base() {
  const char* const runtime = secure_getenv("XDG_RUNTIME_DIR");
  struct stat found = {};
  const bool usable = runtime != nullptr && runtime[0] == '/' && stat(runtime, &found) == 0 &&
                      S_ISDIR(found.st_mode) && found.st_uid == geteuid() &&
                      access(runtime, W_OK) == 0;
  return usable ? std::string(runtime) + "/verbena" : "/tmp/verbena-" + std::to_string(geteuid());
}

}  // namespace

ErrorOr<void> WriteTree(const DeviceTree& tree, const std::string& root) {
  return Writer(root).Write(tree);
}

ErrorOr<std::string> SafeFolder(const std::string& path) {
  constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
  const bool is_new = mkdir(path.c_str(), kFolderMode) == 0;
  if (!is_new && errno != EEXIST) return Fail(SystemError("cannot make " + path));
  if (is_new) chmod(path.c_str(), kFolderMode);
  // In /tmp another user may have made this name first, even as a link.
  struct stat found = {};
  if (lstat(path.c_str(), &found) != 0) return Fail(SystemError("cannot look at " + path));
  if (!S_ISDIR(found.st_mode) || found.st_uid != geteuid() || (found.st_mode & kOthersWrite) != 0) {
    return Fail(Error{ErrorCode::kSystem, path + " is not a folder that only this user writes to; "
                                                 "remove it, or set XDG_RUNTIME_DIR to one"});
  }
  std::error_code failed;
  const auto canonical = fs::canonical(path, failed);
  if (failed) return Fail(Error{ErrorCode::kSystem, path + ": " + failed.message()});
  return canonical.string();
}

ErrorOr<std::string> TreeFolder(std::string_view device, LinkLayer link_layer) {
  const auto base = SafeFolder(Base());
  if (!base) return Fail(base.error());
  return *base + "/" + NetworkName() + "-" + std::string(device) +
         (link_layer == LinkLayer::kRoce ? "-ethernet" : "-ib");
}

}  // namespace verbena::ibverbs
