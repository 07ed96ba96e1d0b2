#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace verbena::cli {

// How long something took, each time; in microseconds where it is told.
class Latencies {
 public:
  void Reserve(size_t count) { nanoseconds_.reserve(count); }
  void Add(int64_t nanoseconds) { nanoseconds_.push_back(nanoseconds); }

  [[nodiscard]] size_t count() const { return nanoseconds_.size(); }
  [[nodiscard]] double MeanUs() const;
  // The time within which such a part of them ended: 0 the shortest, 1 the longest. 0 of none.
  [[nodiscard]] double WithinUs(double part) const;

  [[nodiscard]] nlohmann::json ToJson() const;
  [[nodiscard]] std::string ToText() const;

 private:
  // Sorted when first asked: asking is rare, and adding must cost nothing.
  mutable std::vector<int64_t> nanoseconds_;
};

}  // namespace verbena::cli
