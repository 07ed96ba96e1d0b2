#pragma once

#include <utility>

namespace verbena {

// Undoes the first steps of a change when a later step fails: calls `undo` at the end of the scope
// unless Keep was called. `undo` must not throw.
template <class Undo>
class Rollback {
 public:
  [[nodiscard]] explicit Rollback(Undo undo) : undo_(std::move(undo)) {}
  Rollback(const Rollback&) = delete;
  Rollback& operator=(const Rollback&) = delete;
  ~Rollback() {
    if (is_armed_) undo_();
  }

  // The change is complete: the destructor does not call `undo`.
  void Keep() { is_armed_ = false; }

 private:
  const Undo undo_;
  bool is_armed_ = true;
};

}  // namespace verbena
