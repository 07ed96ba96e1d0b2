#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "verbena/managed_memory.h"

namespace examples {

// Which parts of managed memory are in memory, as time goes by: a line of text for each moment, and
// an SVG of all of them. One thread at a time.
class ResidencyPicture {
 public:
  static constexpr size_t kCells = 64, kMomentsMax = 128;

  // When the next moment is due, in seconds.
  [[nodiscard]] double next() const {
    return moments_.empty() ? 0 : moments_.back().seconds + step_;
  }

  // Each cell: how much of it is in memory, from 0 to 1.
  const std::vector<double>& Add(double seconds, const std::vector<verbena::PagePlace>& places) {
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
    moments_.push_back({seconds, std::move(cells)});
    return moments_.back().cells;
  }

  // One character a cell: nothing, a quarter, half, three quarters, all.
  static std::string Text(const std::vector<double>& cells) {
    constexpr char kShades[] = " .-=#";
    std::string text;
    for (const double share : cells) text += kShades[static_cast<size_t>(share * 4 + 0.5)];
    return text;
  }

  // False if the file cannot be written.
  bool WriteSvg(const std::string& path) const {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    if (file == nullptr) return false;
    const size_t width = std::max<size_t>(moments_.size(), 1) * kCellWidth + 2 * kMargin;
    std::fprintf(file,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%zu\" "
                 "font-family=\"sans-serif\" font-size=\"12\">\n"
                 "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
                 "<text x=\"%zu\" y=\"20\">What of the region is in memory (dark), from its first "
                 "byte (top) to its last, over %.1f s</text>\n",
                 width, kCells * kCellHeight + 2 * kMargin, kMargin,
                 moments_.empty() ? 0.0 : moments_.back().seconds);
    for (size_t x = 0; x < moments_.size(); ++x) {
      for (size_t y = 0; y < kCells; ++y) {
        const double share = moments_[x].cells[y];
        if (share <= 0) continue;
        std::fprintf(file,
                     "<rect x=\"%zu\" y=\"%zu\" width=\"%zu\" height=\"%zu\" fill=\"#1f4e79\" "
                     "fill-opacity=\"%.2f\"/>\n",
                     kMargin + x * kCellWidth, kMargin + y * kCellHeight, kCellWidth, kCellHeight,
                     share);
      }
    }
    std::fprintf(file, "</svg>\n");
    return std::fclose(file) == 0;
  }

 private:
  static constexpr size_t kCellWidth = 6, kCellHeight = 5, kMargin = 30;

  struct Moment {
    double seconds = 0;
    std::vector<double> cells;
  };

  // Every second moment goes, and from now on they are twice as far apart.
  void Thin() {
    // From the second on: a vector that is moved to itself ends empty.
    for (size_t i = 1; i < moments_.size() / 2; ++i) moments_[i] = std::move(moments_[2 * i]);
    moments_.resize(moments_.size() / 2);
    step_ *= 2;
  }

  std::vector<Moment> moments_;
  double step_ = 0.005;  // so short that a run of a second has to thin out, tests included
};

}  // namespace examples
