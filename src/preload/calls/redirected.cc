#include "preload/calls/redirected.h"

#include <stdlib.h>

#include <atomic>
#include <cstring>

namespace verbena::preload {
namespace {

constexpr size_t kRootMax = 384;

// As the environment had it when the program started; a program may change that later.
struct Root {
  char path[kRootMax];
  std::atomic<size_t> length;
  std::atomic<bool> is_known;
};
constinit Root root = {};

// May run on several threads at once, if libraries start some while they are loaded: all of them
// write the same.
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
