#include "cli/device_files.h"

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/result.h"
#include "cli/preload.h"

namespace verbena::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPathCalls = "libverbena-files.so";
constexpr const char* kTree = "VERBENA_DEVICE_TREE";

// Has the library write the files, since it knows their contents. Returns their root directory.
ErrorOr<std::string> WriteFiles(const fs::path& library) {
  constexpr size_t kPathMax = 384;  // kRootMax in preload/calls/redirected.cc
  void* const loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) return Fail(SystemError(0, dlerror()));
  using Write = int(char* out, size_t size);
  auto* const write = reinterpret_cast<Write*>(dlsym(loaded, "verbena_write_device_files"));
  if (write == nullptr) return Fail(SystemError(0, library.string() + " is of another version"));
  std::array<char, kPathMax> out{};
  if (write(out.data(), out.size()) != 0) return Fail(SystemError(0, out.data()));
  return std::string(out.data());
}

}  // namespace

ErrorOr<void> ShowDeviceFiles(const fs::path& libraries) {
  const fs::path path_calls = libraries / kPathCalls;
  if (!fs::exists(path_calls)) {
    return Fail(
        SystemError(0, "there is no " + path_calls.string() +
                           "; in a source tree, build it by make build, else install the package "
                           "again"));
  }
  const auto root = WriteFiles(libraries / "libibverbs.so.1");
  if (!root) return Fail(root.error());
  setenv(kTree, root->c_str(), 1);
  Preload(path_calls);
  return {};
}

void HideDeviceFiles() { unsetenv(kTree); }

}  // namespace verbena::cli
