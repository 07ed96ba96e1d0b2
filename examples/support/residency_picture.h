#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "verbena/managed_memory.h"

namespace examples {

// Shows which parts of managed memory are resident over time: a line of text for each sample, and
// an SVG of all samples with a curve of the total. One thread at a time.
class ResidencyPicture {
 public:
  static constexpr size_t kCells = 64, kMomentsMax = 128;

  ResidencyPicture(uint64_t size, uint64_t budget) : size_(size), budget_(budget) {}

  // The time of the next sample, in seconds.
  [[nodiscard]] double next() const {
    return moments_.empty() ? 0 : moments_.back().seconds + step_;
  }

  // Starts a new phase.
  void BeginPhase(double seconds, std::string name) {
    phases_.push_back({seconds, std::move(name)});
  }

  // Adds a sample. `resident` is the peak of resident bytes since the previous one. Returns the
  // resident share of each cell, from 0 to 1.
  const std::vector<double>& Add(double seconds, const std::vector<verbena::PagePlace>& places,
                                 uint64_t resident) {
    std::vector<double> cells(kCells);
    for (size_t cell = 0; cell < kCells; ++cell) {
      const size_t first = cell * places.size() / kCells, end = (cell + 1) * places.size() / kCells;
      const auto here = std::count(places.begin() + static_cast<std::ptrdiff_t>(first),
                                   places.begin() + static_cast<std::ptrdiff_t>(end),
                                   verbena::PagePlace::kInMemory);
      cells[cell] =
          static_cast<double>(here) / static_cast<double>(std::max<size_t>(end - first, 1));
    }
    if (moments_.size() == kMomentsMax) Thin();
    moments_.push_back({seconds, std::move(cells), resident});
    return moments_.back().cells;
  }

  // One character per cell, for 0, 1/4, 1/2, 3/4 and all of it resident.
  static std::string Text(const std::vector<double>& cells) {
    constexpr char kShades[] = " .-=#";
    std::string text;
    for (const double share : cells) text += kShades[static_cast<size_t>(share * 4 + 0.5)];
    return text;
  }

  // False if the file cannot be written.
  [[nodiscard]] bool WriteSvg(const std::string& path) const {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    if (file == nullptr) return false;
    std::fprintf(file,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
                 "height=\"%d\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n"
                 "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
                 "<text x=\"%d\" y=\"18\" font-size=\"14\" font-weight=\"bold\">A region of %s, of "
                 "which %s may be resident</text>\n",
                 kWidth, kHeight, kWidth, kHeight, kLeft, Mib(size_).c_str(), Mib(budget_).c_str());
    DrawMap(file);
    DrawCurve(file);
    DrawPhases(file);
    DrawTimes(file);
    std::fprintf(file, "</svg>\n");
    const bool is_written = std::ferror(file) == 0;
    return std::fclose(file) == 0 && is_written;
  }

 private:
  // The layout of the picture: the map above the curve, on one time axis.
  static constexpr int kWidth = 900, kLeft = 96, kRight = 880;
  static constexpr int kMapTop = 54, kCellHeight = 4, kMapBottom = kMapTop + 64 * kCellHeight;
  static constexpr int kCurveTop = kMapBottom + 18, kCurveBottom = kCurveTop + 100;
  static constexpr int kHeight = kCurveBottom + 44;
  static constexpr int kShades = 8;  // more shades would be indistinguishable

  struct Moment {
    double seconds = 0;
    std::vector<double> cells;
    uint64_t resident = 0;
  };
  struct Phase {
    double begin = 0;
    std::string name;
  };

  static std::string Mib(uint64_t bytes) {
    return std::to_string((bytes + (1U << 19)) >> 20) + " MiB";
  }
  [[nodiscard]] double end() const {
    return moments_.empty() ? 1 : moments_.back().seconds + step_;
  }
  [[nodiscard]] double X(double seconds) const {
    return kLeft + (kRight - kLeft) * std::min(seconds / end(), 1.0);
  }
  [[nodiscard]] double Y(uint64_t resident) const {
    const double top = 1.5 * static_cast<double>(budget_);
    const double share = std::min(static_cast<double>(resident) / top, 1.0);
    return kCurveBottom - (kCurveBottom - kCurveTop) * share;
  }

  // One column per sample; adjacent cells of one shade are one rectangle.
  void DrawMap(std::FILE* file) const {
    for (size_t i = 0; i < moments_.size(); ++i) {
      const double left = X(moments_[i].seconds);
      const double right = X(i + 1 < moments_.size() ? moments_[i + 1].seconds : end());
      const auto shade = [&](size_t cell) {
        return std::lround(moments_[i].cells[cell] * kShades);
      };
      for (size_t first = 0, past = 0; first < kCells; first = past) {
        for (past = first + 1; past < kCells && shade(past) == shade(first);) ++past;
        if (shade(first) == 0) continue;
        std::fprintf(file,
                     "<rect x=\"%.1f\" y=\"%zu\" width=\"%.1f\" height=\"%zu\" fill=\"#1f4e79\" "
                     "fill-opacity=\"%.3f\"/>\n",
                     left, kMapTop + first * kCellHeight, right - left,
                     (past - first) * kCellHeight, static_cast<double>(shade(first)) / kShades);
      }
    }
    Frame(file, kMapTop, kMapBottom);
    Label(file, kLeft - 8, kMapTop + 10, "end", "first byte");
    Label(file, kLeft - 8, kMapBottom, "end", "last byte");
    Label(file, kLeft - 8, (kMapTop + kMapBottom) / 2, "end", "dark: resident");
    Label(file, kLeft - 8, (kMapTop + kMapBottom) / 2 + 15, "end", "memory");
  }

  void DrawCurve(std::FILE* file) const {
    std::fprintf(file, "<path fill=\"#1f4e79\" fill-opacity=\"0.35\" d=\"M%d %d", kLeft,
                 kCurveBottom);
    for (const Moment& moment : moments_) {
      std::fprintf(file, "V%.1fH%.1f", Y(moment.resident), X(moment.seconds));
    }
    std::fprintf(file, "H%.1fV%d Z\"/>\n", X(end()), kCurveBottom);
    Frame(file, kCurveTop, kCurveBottom);
    const double line = Y(budget_);
    std::fprintf(file,
                 "<path d=\"M%d %.1fH%d\" stroke=\"#b00020\" stroke-width=\"1.5\" "
                 "stroke-dasharray=\"6 3\"/>\n",
                 kLeft, line, kRight);
    Label(file, kLeft - 8, static_cast<int>(line) + 4, "end", "budget " + Mib(budget_));
    Label(file, kLeft - 8, kCurveBottom, "end", "0");
    Label(file, kRight, kCurveTop - 5, "end", "resident bytes");
  }

  void DrawPhases(std::FILE* file) const {
    for (const Phase& phase : phases_) {
      std::fprintf(file, "<path d=\"M%.1f %dV%d\" stroke=\"#333\" stroke-dasharray=\"2 3\"/>\n",
                   X(phase.begin), kMapTop - 16, kCurveBottom);
      Label(file, static_cast<int>(X(phase.begin)) + 4, kMapTop - 6, "start", phase.name);
    }
  }

  // About eight marks, a round number of seconds apart.
  void DrawTimes(std::FILE* file) const {
    double apart = std::pow(10, std::floor(std::log10(end() / 8)));
    for (const double factor : {2.0, 2.5, 2.0}) {
      if (end() / apart > 8) apart *= factor;
    }
    for (double at = 0; at <= end(); at += apart) {
      char text[32];
      std::snprintf(text, sizeof text, "%g", at);
      Label(file, static_cast<int>(X(at)), kCurveBottom + 16, "middle", text);
    }
    Label(file, (kLeft + kRight) / 2, kCurveBottom + 34, "middle", "seconds");
  }

  static void Frame(std::FILE* file, int top, int bottom) {
    std::fprintf(file,
                 "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" "
                 "stroke=\"#999\"/>\n",
                 kLeft, top, kRight - kLeft, bottom - top);
  }
  static void Label(std::FILE* file, int x, int y, const char* anchor, const std::string& text) {
    std::fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">%s</text>\n", x, y, anchor,
                 text.c_str());
  }

  // Drops every second sample and doubles the step.
  void Thin() {
    // From the second on: moving a vector to itself can leave it empty.
    for (size_t i = 1; i < moments_.size() / 2; ++i) {
      const uint64_t resident = std::max(moments_[2 * i - 1].resident, moments_[2 * i].resident);
      moments_[i] = std::move(moments_[2 * i]);
      moments_[i].resident = resident;
    }
    moments_.resize(moments_.size() / 2);
    step_ *= 2;
  }

  uint64_t size_;
  uint64_t budget_;
  std::vector<Moment> moments_;
  std::vector<Phase> phases_;
  double step_ = 0.005;  // so short that even a test run of a second calls Thin
};

}  // namespace examples
