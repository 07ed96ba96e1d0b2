#pragma once

#include <chrono>
#include <string>

namespace verbena::cli {

// A line on the terminal that shows the progress of long work. Shown only if standard error is a
// terminal and the work lasts longer than half a second; the destructor erases it. One thread.
class ProgressBar {
 public:
  explicit ProgressBar(std::string title);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar();

  // `part` is the fraction done, 0 to 1. Cheap enough to be called often.
  void Show(double part);

  // "title [#####.....] 50 %"
  [[nodiscard]] static std::string Line(const std::string& title, double part);

 private:
  using Clock = std::chrono::steady_clock;

  std::string title_;
  bool is_terminal_;
  bool is_shown_ = false;
  Clock::time_point next_;
};

}  // namespace verbena::cli
