#pragma once

#include <dlfcn.h>

#include <atomic>

// The functions of others under names of ours.

#define VERBENA_INTERPOSED extern "C" __attribute__((visibility("default")))

namespace verbena::preload {

// The function of this name that the program would call without us: the C library's, or that of
// another library that stands in front of it. Looked up when first needed, because libraries open
// files before our own constructor has run. Any thread.
template <class Function>
class Next {
 public:
  constexpr explicit Next(const char* name) : name_(name) {}

  template <class... Arguments>
  auto operator()(Arguments... arguments) {
    return Get()(arguments...);
  }

 private:
  Function* Get() {
    auto* found = found_.load(std::memory_order_relaxed);
    if (found != nullptr) return found;
    found = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name_));
    found_.store(found, std::memory_order_relaxed);
    return found;
  }

  const char* name_;
  std::atomic<Function*> found_ = nullptr;
};

}  // namespace verbena::preload
