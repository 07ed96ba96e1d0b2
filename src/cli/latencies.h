#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace verbena::cli {

// Samples of a latency, recorded in nanoseconds and reported in microseconds.
class Latencies {
 public:
  void Reserve(size_t count) { nanoseconds_.reserve(count); }
  void Add(int64_t nanoseconds) { nanoseconds_.push_back(nanoseconds); }

  [[nodiscard]] size_t count() const { return nanoseconds_.size(); }
  [[nodiscard]] double MeanUs() const;
  // The quantile: `part` 0 is the minimum, 0.5 the median, 1 the maximum. 0 if there are no
  // samples.
  [[nodiscard]] double WithinUs(double part) const;

  [[nodiscard]] nlohmann::json ToJson() const;
  [[nodiscard]] std::string ToText() const;

 private:
  // Sorted lazily: queries are rare, and Add must be cheap.
  mutable std::vector<int64_t> nanoseconds_;
};

}  // namespace verbena::cli
