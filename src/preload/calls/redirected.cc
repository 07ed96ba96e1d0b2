#include "preload/calls/redirected.h"

#include <stdlib.h>

#include <atomic>
#include <cstring>

namespace verbena::preload {
namespace {

constexpr size_t kRootMax = 384;

// The value of the variable at the start of the program, which can change its environment later.
struct Root {
  char path[kRootMax];
  std::atomic<size_t> length;
  std::atomic<bool> is_known;
};
constinit Root root = {};

// Can run on several threads at once, if libraries start threads while they are loaded. All of them
// write the same value.
void Learn() {
  const char* const value = secure_getenv("VERBENA_DEVICE_TREE");
  const size_t length = value != nullptr ? std::strlen(value) : 0;
  if (length > 0 && length < kRootMax && value[0] == '/') {
    std::memcpy(root.path, value, length);
    root.length.store(length, std::memory_order_release);
  }
  root.is_known.store(true, std::memory_order_release);
}

__attribute__((constructor)) void LearnAtStart() { Learn(); }

}  // namespace

std::string_view TreeRoot() {
  if (!root.is_known.load(std::memory_order_acquire)) Learn();
  return {root.path, root.length.load(std::memory_order_acquire)};
}

void Redirected::Enter() {
  const PathKind kind = Classify(path_);
  if (kind == PathKind::kOther) return;
  const std::string_view folder = TreeRoot();
  if (folder.empty() || !Rewrite(path_, folder, buffer_)) return;
  kind_ = kind;
  path_ = buffer_;
}

}  // namespace verbena::preload
