#pragma once

#include <string>
#include <string_view>

namespace verbena::sim {

// The failures that the oracles find. Only the first is kept, because later ones are often its
// consequences.
class Findings {
 public:
  void Add(std::string_view oracle, std::string_view what) {
    if (text_.empty()) text_ = std::string(oracle) + ": " + std::string(what);
  }
  [[nodiscard]] bool empty() const { return text_.empty(); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace verbena::sim
