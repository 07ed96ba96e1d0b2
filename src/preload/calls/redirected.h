#pragma once

#include <cstddef>
#include <string_view>

#include "preload/device_path.h"

namespace verbena::preload {

// The directory that holds the files of the device, from the environment; empty if there is none.
[[nodiscard]] std::string_view TreeRoot();

// A path as the C library gets it: the program's own, or the place of that device file in the tree.
// An object on the stack of one call. For other paths the cost is one comparison.
class Redirected {
 public:
  explicit Redirected(const char* path) : path_(Any(path)) {
    if (IsCandidate(path_)) Enter();
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

  // The device node is replaced by /dev/null, which any user can open and which returns no data.
  [[nodiscard]] const char* path() const { return is_device() ? "/dev/null" : path_; }
  // As path(), but for the device node the file of its name in the tree.
  [[nodiscard]] const char* in_tree() const { return path_; }

  [[nodiscard]] bool is_ours() const { return kind_ != PathKind::kOther; }
  [[nodiscard]] bool is_device() const { return kind_ == PathKind::kDevice; }

 private:
  // The headers declare most paths nonnull, so the compiler would drop the test for null, but the
  // kernel allows null. The empty asm costs no instruction.
  static const char* Any(const char* path) {
    asm("" : "+r"(path));
    return path;
  }
  void Enter();

  static constexpr size_t kBytesMax = 640;  // every name in the tree is less than half as long

  const char* path_;
  PathKind kind_ = PathKind::kOther;
  char buffer_[kBytesMax];  // uninitialised unless is_ours()
};

}  // namespace verbena::preload
