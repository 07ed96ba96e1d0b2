#pragma once

#include <dlfcn.h>

#include <atomic>

namespace verbena::libc {

// A function of the C library, even if a preloaded library interposes it; looked up at the first
// call. Any thread. Calls that wait are cancellation points, which raw system calls would not be.
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
    // The C library is always loaded, so this only increments its reference count.
    found = reinterpret_cast<Function*>(dlsym(dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), name_));
    found_.store(found, std::memory_order_relaxed);
    return found;
  }

  const char* name_;
  std::atomic<Function*> found_ = nullptr;
};

}  // namespace verbena::libc
