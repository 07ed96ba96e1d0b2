#pragma once

#include <cstddef>
#include <span>
#include <string_view>

// Which paths of a program belong to the device, and where their files are. Nothing here allocates
// or needs a library, because it runs inside the path calls of arbitrary programs.

namespace verbena::preload {

enum class PathKind : unsigned char {
  kOther,   // not a path of the device
  kTree,    // in or below one of kTreeFolders
  kDevice,  // the character device itself
};

// The character device, and the device number that a program sees: that of the first uverbs device
// of the kernel.
inline constexpr std::string_view kDevicePath = "/dev/infiniband/uverbs0";
inline constexpr unsigned kDeviceMajor = 231;
inline constexpr unsigned kDeviceMinor = 192;

// The directories that describe the device. None lies below another, and the last two belong to a
// PCI domain that no machine has.
inline constexpr std::string_view kTreeFolders[] = {
    "/sys/class/infiniband", "/sys/class/infiniband_verbs", "/sys/class/infiniband_mad",
    "/dev/infiniband",       "/sys/devices/pci7665:00",     "/sys/bus/pci/devices/7665:00:00.0",
};

// False for nearly all paths that do not belong to the device, at the cost of two comparisons.
// False for null.
[[nodiscard]] inline bool IsCandidate(const char* path) {
  return path != nullptr && path[0] == '/' && (path[1] == 's' || path[1] == 'd' || path[1] == '/');
}

// `path` is absolute; its slashes can be repeated. Null is kOther.
[[nodiscard]] PathKind Classify(const char* path);

// Writes `root` followed by `path`, which is kTree or kDevice. False if the result does not fit.
[[nodiscard]] bool Rewrite(const char* path, std::string_view root, std::span<char> out);

// Removes `root` from the front of `path`, in place, if it is there.
void StripRoot(char* path, std::string_view root);

}  // namespace verbena::preload
