#include "model/tally.h"

#include <cstdio>

namespace verbena::memory::model {
namespace {

template <size_t kCount>
void AddAll(std::array<uint64_t, kCount>& to, const std::array<uint64_t, kCount>& from) {
  for (size_t i = 0; i < kCount; ++i) to[i] += from[i];
}

std::string Line(const char* kind, const char* name, uint64_t count) {
  std::array<char, 128> line{};
  std::snprintf(line.data(), line.size(), "%12llu  %-8s %s\n",
                static_cast<unsigned long long>(count), kind, name);
  return line.data();
}

}  // namespace

void Tally::Add(const Tally& other) {
  AddAll(denials_, other.denials_);
  AddAll(errors_, other.errors_);
  AddAll(touches_, other.touches_);
  AddAll(faults_, other.faults_);
  ready_ += other.ready_;
  moved_ += other.moved_;
  successes_ += other.successes_;
}

std::string Tally::ToString() const {
  std::string text = Line("access", "ready", ready_);
  text += Line("access", "missing in the first stage", Of(Stage::kFirst));
  text += Line("access", "missing in the second stage", Of(Stage::kSecond));
  text += Line("bytes", "moved and compared", moved_);
  text += Line("call", "done", successes_);
  for (size_t i = 0; i < kRefusals; ++i) {
    text += Line("refusal", memory::NameOf(static_cast<Refusal>(i)), denials_[i]);
  }
  for (size_t i = 0; i < kErrors; ++i) {
    text += Line("error", memory::NameOf(static_cast<MemoryError>(i)), errors_[i]);
  }
  for (size_t i = 0; i < kTouches; ++i) {
    text += Line("touch", NameOf(static_cast<TouchAction>(i)), touches_[i]);
  }
  return text;
}

const char* NameOf(TouchAction action) {
  switch (action) {
    case TouchAction::kPlace:
      return "place";
    case TouchAction::kPlaceAndInvalidate:
      return "place and invalidate";
    case TouchAction::kPlaceAndRemember:
      return "place and remember";
    case TouchAction::kDrop:
      return "drop";
    case TouchAction::kInvalidateAndTerminate:
      return "invalidate and terminate";
  }
  return "?";
}

}  // namespace verbena::memory::model
