#pragma once

#include <string>
#include <string_view>

namespace verbena::sim {

// What the oracles object to. The first objection counts: what follows it is often its echo.
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
