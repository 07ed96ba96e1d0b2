#include "preload/device_path.h"

#include <cstring>

namespace verbena::preload {
namespace {

// The rest of `path` after `prefix`, or null if `path` does not begin with it. Each slash in `path`
// can be repeated.
const char* After(const char* path, std::string_view prefix) {
  for (const char expected : prefix) {
    if (*path != expected) return nullptr;
    ++path;
    if (expected != '/') continue;
    while (*path == '/') ++path;
  }
  return path;
}

// Whether `path` is `expected`, with the same rule for slashes.
bool IsPath(const char* path, std::string_view expected) {
  const char* const rest = After(path, expected);
  return rest != nullptr && *rest == '\0';
}

}  // namespace

PathKind Classify(const char* path) {
  if (!IsCandidate(path)) return PathKind::kOther;
  for (const std::string_view folder : kTreeFolders) {
    const char* const rest = After(path, folder);
    if (rest == nullptr || (*rest != '/' && *rest != '\0')) continue;
    return IsPath(path, kDevicePath) ? PathKind::kDevice : PathKind::kTree;
  }
  return PathKind::kOther;
}

bool Rewrite(const char* path, std::string_view root, std::span<char> out) {
  const size_t length = std::strlen(path);
  if (root.size() + length >= out.size()) return false;
  std::memcpy(out.data(), root.data(), root.size());
  std::memcpy(out.data() + root.size(), path, length + 1);
  return true;
}

void StripRoot(char* path, std::string_view root) {
  if (root.empty() || std::strncmp(path, root.data(), root.size()) != 0) return;
  const char* const rest = path + root.size();
  if (*rest == '/') std::memmove(path, rest, std::strlen(rest) + 1);
}

}  // namespace verbena::preload
