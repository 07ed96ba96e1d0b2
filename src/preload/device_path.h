#pragma once

#include <cstddef>
#include <span>
#include <string_view>

// Which paths of a program are about the device, and where their files really are. Nothing here
// allocates or needs a library: it runs inside the path calls of programs that know nothing of us.

namespace verbena::preload {

enum class PathKind : unsigned char {
  kOther,   // not ours
  kTree,    // below one of the folders that tell about the device
  kDevice,  // the character device itself
};

// The character device, and the number that a program is told of it: the first device of the
// kernel's own user-space verbs.
inline constexpr std::string_view kDevicePath = "/dev/infiniband/uverbs0";
inline constexpr unsigned kDeviceMajor = 231;
inline constexpr unsigned kDeviceMinor = 192;

// The folders that tell about the device. None lies below another, and the last two belong to a
// PCI domain that no machine has.
inline constexpr std::string_view kTreeFolders[] = {
    "/sys/class/infiniband", "/sys/class/infiniband_verbs", "/sys/class/infiniband_mad",
    "/dev/infiniband",       "/sys/devices/pci7665:00",     "/sys/bus/pci/devices/7665:00:00.0",
};

// False for nearly all paths that are none of ours, at the price of two comparisons. Null is none.
[[nodiscard]] inline bool IsCandidate(const char* path) {
  return path != nullptr && path[0] == '/' && (path[1] == 's' || path[1] == 'd' || path[1] == '/');
}

// Of an absolute path; slashes may be repeated. Null is kOther.
[[nodiscard]] PathKind Classify(const char* path);

// Writes `root` followed by `path`, which is kTree or kDevice. False if it does not fit.
[[nodiscard]] bool Rewrite(const char* path, std::string_view root, std::span<char> out);

// Takes `root` off the front of a path that has it there, in place.
void StripRoot(char* path, std::string_view root);

}  // namespace verbena::preload
