#include "cli/progress_bar.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace verbena::cli {
namespace {

constexpr std::chrono::milliseconds kFirst(500);
constexpr std::chrono::milliseconds kEvery(100);
constexpr size_t kWidth = 30;

}  // namespace

ProgressBar::ProgressBar(std::string title)
    : title_(std::move(title)),
      is_terminal_(isatty(STDERR_FILENO) != 0),
      next_(Clock::now() + kFirst) {}

ProgressBar::~ProgressBar() {
  if (is_shown_) std::fputs("\r\033[K", stderr);
}

void ProgressBar::Show(double part) {
  if (!is_terminal_) return;
  const auto now = Clock::now();
  if (now < next_) return;
  next_ = now + kEvery;
  is_shown_ = true;
  std::fprintf(stderr, "\r%s", Line(title_, part).c_str());
}

std::string ProgressBar::Line(const std::string& title, double part) {
  const double clamped = std::clamp(part, 0.0, 1.0);
  const auto filled = static_cast<size_t>(clamped * kWidth);
  return title + " [" + std::string(filled, '#') + std::string(kWidth - filled, '.') + "] " +
         std::to_string(static_cast<int>(clamped * 100)) + " %";
}

}  // namespace verbena::cli
