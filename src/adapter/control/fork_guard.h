#pragma once

#include "adapter/error.h"

namespace verbena::adapter {

// Knows whether this process is the one that it was made in. A page that the system wipes in every
// child holds a word; so the question costs one load, and no handler of ours runs in a fork.
//
// Any thread.
class ForkGuard {
 public:
  [[nodiscard]] static ErrorOr<ForkGuard> Make();

  ForkGuard(ForkGuard&& other) noexcept;
  ForkGuard& operator=(ForkGuard&&) = delete;
  ~ForkGuard();

  [[nodiscard]] bool is_child() const { return *word_ == 0; }

 private:
  explicit ForkGuard(const volatile unsigned* word) : word_(word) {}

  const volatile unsigned* word_;
};

}  // namespace verbena::adapter
