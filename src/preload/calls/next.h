#pragma once

#include <dlfcn.h>

#include <atomic>

// Marks a function that interposes one of the C library.

#define VERBENA_INTERPOSED extern "C" __attribute__((visibility("default")))

namespace verbena::preload {

// The next function of this name in the search order: the C library's, or that of another preloaded
// library. Looked up at the first call, because libraries open files before our constructor has
// run. Any thread.
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
