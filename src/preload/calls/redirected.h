#pragma once

#include <cstddef>
#include <string_view>

#include "preload/device_path.h"

namespace verbena::preload {

// The folder that holds the files of the device, from the environment; empty if there is none.
[[nodiscard]] std::string_view TreeRoot();

// A path as the C library is to see it: the program's own, or where that file of the device is. A
// value on the stack of one call; a path that is not ours pays for a comparison.
class Redirected {
 public:
  explicit Redirected(const char* path) : path_(Any(path)) {
    if (IsCandidate(path_)) Enter();
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

  // The device itself is a file of the system's that any user may open, and that says nothing.
  [[nodiscard]] const char* path() const { return is_device() ? "/dev/null" : path_; }
  // Likewise, but the file of that name in the tree.
  [[nodiscard]] const char* in_tree() const { return path_; }

  [[nodiscard]] bool is_ours() const { return kind_ != PathKind::kOther; }
  [[nodiscard]] bool is_device() const { return kind_ == PathKind::kDevice; }

 private:
  // The headers say of most calls that their path is not null, and the compiler believes it; the
  // kernel does not. This costs no instruction.
  static const char* Any(const char* path) {
    asm("" : "+r"(path));
    return path;
  }
  void Enter();

  static constexpr size_t kBytesMax = 640;  // no name in the tree is half as long

  const char* path_;
  PathKind kind_ = PathKind::kOther;
  char buffer_[kBytesMax];  // uninitialised unless it is ours
};

}  // namespace verbena::preload
