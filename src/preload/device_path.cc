#include "preload/device_path.h"

#include <cstring>

namespace verbena::preload {
namespace {

// Whether the string at `path` begins with `prefix`, however often its slashes are repeated. What
// follows it, or null.
const char* After(const char* path, std::string_view prefix) {
  for (const char expected : prefix) {
    if (*path != expected) return nullptr;
    ++path;
    if (expected != '/') continue;
    while (*path == '/') ++path;
  }
  return path;
}

// The same for a whole path: nothing but slashes follows.
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
