#pragma once

#include <dlfcn.h>

#include <atomic>

namespace verbena::libc {

// A function of the C library itself, whatever is preloaded in front of it; looked up at its first
// call. Any thread. A function that waits is a point of cancellation, which a system call of our
// own would not be.
template <class Function>
class Call {
 public:
  constexpr explicit Call(const char* name) : name_(name) {}

  template <class... Arguments>
  auto operator()(Arguments... arguments) {
    return Get()(arguments...);
  }

 private:
  Function* Get() {
    auto* found = found_.load(std::memory_order_relaxed);
    if (found != nullptr) return found;
    // Every process has the C library: this counts one more user of it.
    found = reinterpret_cast<Function*>(dlsym(dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), name_));
    found_.store(found, std::memory_order_relaxed);
    return found;
  }

  const char* name_;
  std::atomic<Function*> found_ = nullptr;
};

}  // namespace verbena::libc
