#pragma once

#include "adapter/error.h"

namespace verbena::adapter {

// Tells a forked child from the process that made the guard. The guard has a page that the kernel
// wipes in every child (MADV_WIPEONFORK), so the check costs one load and needs no fork handler.
//
// Any thread.
class ForkGuard {
 public:
  [[nodiscard]] static ErrorOr<ForkGuard> Make();

  ForkGuard(ForkGuard&& other) noexcept;
  ForkGuard& operator=(ForkGuard&&) = delete;
  ~ForkGuard();

  [[nodiscard]] bool is_child() const { return *mark() == 0; }
  // 0 in a child.
  [[nodiscard]] const volatile unsigned* mark() const { return word_; }

 private:
  explicit ForkGuard(const volatile unsigned* word) : word_(word) {}

  const volatile unsigned* word_;
};

}  // namespace verbena::adapter
