#include "cli/latencies.h"

#include <algorithm>
#include <numeric>

#include <nlohmann/json.hpp>

#include "cli/text.h"

namespace verbena::cli {
namespace {

constexpr double kNsPerUs = 1e3;

}  // namespace

double Latencies::MeanUs() const {
  if (nanoseconds_.empty()) return 0;
  const double sum = std::accumulate(nanoseconds_.begin(), nanoseconds_.end(), 0.0);
  return sum / static_cast<double>(count()) / kNsPerUs;
}

double Latencies::WithinUs(double part) const {
  if (nanoseconds_.empty()) return 0;
  if (!std::ranges::is_sorted(nanoseconds_)) std::ranges::sort(nanoseconds_);
  const auto index = static_cast<size_t>(part * static_cast<double>(count() - 1));
  return static_cast<double>(nanoseconds_[index]) / kNsPerUs;
}

nlohmann::json Latencies::ToJson() const {
  return {{"count", count()},         {"mean", MeanUs()},           {"min", WithinUs(0)},
          {"p50", WithinUs(0.5)},     {"p90", WithinUs(0.9)},       {"p99", WithinUs(0.99)},
          {"p99.9", WithinUs(0.999)}, {"p99.99", WithinUs(0.9999)}, {"max", WithinUs(1)}};
}

std::string Latencies::ToText() const {
  return Text("p50 %.2f us, p90 %.2f, p99 %.2f, p99.9 %.2f, min %.2f, max %.2f", WithinUs(0.5),
              WithinUs(0.9), WithinUs(0.99), WithinUs(0.999), WithinUs(0), WithinUs(1));
}

}  // namespace verbena::cli
