#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "memory/memory_error.h"
#include "memory/protection/one_touch.h"
#include "memory/protection/translation.h"
#include "memory/refusal.h"

namespace verbena::memory::model {

// Counts how often a run reaches each outcome: a model test that never reaches a rule does not test
// it.
class Tally {
 public:
  static constexpr size_t kRefusals = static_cast<size_t>(Refusal::kWraps) + 1;
  static constexpr size_t kErrors = static_cast<size_t>(MemoryError::kOwnedByTheSystem) + 1;
  static constexpr size_t kTouches = static_cast<size_t>(TouchAction::kInvalidateAndTerminate) + 1;

  void Count(Refusal refusal) { ++denials_[static_cast<size_t>(refusal)]; }
  void Count(MemoryError error) { ++errors_[static_cast<size_t>(error)]; }
  void Count(TouchAction action) { ++touches_[static_cast<size_t>(action)]; }
  void Count(Stage stage) { ++faults_[static_cast<size_t>(stage)]; }
  void CountReady() { ++ready_; }
  void CountMoved(uint64_t bytes) { moved_ += bytes; }
  void CountSuccess() { ++successes_; }

  uint64_t Of(Refusal refusal) const { return denials_[static_cast<size_t>(refusal)]; }
  uint64_t Of(MemoryError error) const { return errors_[static_cast<size_t>(error)]; }
  uint64_t Of(TouchAction action) const { return touches_[static_cast<size_t>(action)]; }
  uint64_t Of(Stage stage) const { return faults_[static_cast<size_t>(stage)]; }
  uint64_t ready() const { return ready_; }
  uint64_t moved() const { return moved_; }

  void Add(const Tally& other);
  std::string ToString() const;  // one line per outcome

 private:
  std::array<uint64_t, kRefusals> denials_{};
  std::array<uint64_t, kErrors> errors_{};
  std::array<uint64_t, kTouches> touches_{};
  std::array<uint64_t, 2> faults_{};
  uint64_t ready_ = 0;
  uint64_t moved_ = 0;
  uint64_t successes_ = 0;
};

const char* NameOf(TouchAction action);

}  // namespace verbena::memory::model
