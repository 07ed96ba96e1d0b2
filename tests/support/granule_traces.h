#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "base/random.h"

namespace verbena::paging {

// Sequences of granule accesses, to compare replacement policies. Memory holds kCapacity granules.
using Trace = std::vector<uint32_t>;

inline constexpr uint32_t kCapacity = 1000;
inline constexpr uint32_t kGranules = 20'000;

// The naive policies to compare with: a list. LRU moves a hit to the front, FIFO does not.
inline double ListHitRatio(const Trace& trace, bool is_lru) {
  std::list<uint32_t> list;
  std::unordered_map<uint32_t, std::list<uint32_t>::iterator> places;
  uint64_t hits = 0;
  for (const uint32_t granule : trace) {
    const auto found = places.find(granule);
    if (found != places.end()) {
      ++hits;
      if (is_lru) list.splice(list.begin(), list, found->second);
      continue;
    }
    if (list.size() == kCapacity) {
      places.erase(list.back());
      list.pop_back();
    }
    list.push_front(granule);
    places[granule] = list.begin();
  }
  return static_cast<double>(hits) / static_cast<double>(trace.size());
}

inline double LruHitRatio(const Trace& trace) { return ListHitRatio(trace, true); }
inline double FifoHitRatio(const Trace& trace) { return ListHitRatio(trace, false); }

// Zipf's distribution: granule 0 is the most frequent, the others follow a power of their rank.
class Zipf {
 public:
  explicit Zipf(double exponent) {
    double sum = 0;
    for (uint32_t rank = 1; rank <= kGranules / 2; ++rank) {
      sum += std::pow(rank, -exponent);
      sums_.push_back(sum);
    }
  }
  uint32_t Draw(Random& random) const {
    const double at = static_cast<double>(random.Below(1U << 30)) / (1U << 30) * sums_.back();
    return static_cast<uint32_t>(std::lower_bound(sums_.begin(), sums_.end(), at) - sums_.begin());
  }

 private:
  std::vector<double> sums_;
};

inline Trace ZipfTrace(uint32_t length, double exponent) {
  Random random(1);
  const Zipf zipf(exponent);
  Trace trace;
  while (trace.size() < length) trace.push_back(zipf.Draw(random));
  return trace;
}

inline Trace LoopTrace(uint32_t length, uint32_t period) {
  Trace trace;
  for (uint32_t i = 0; i < length; ++i) trace.push_back(i % period);
  return trace;
}

// Every third access belongs to a scan over ten times as many granules as fit.
inline Trace ScanAndZipfTrace(uint32_t length) {
  Random random(2);
  const Zipf zipf(0.9);
  Trace trace;
  for (uint32_t i = 0; i < length; ++i) {
    const bool is_scan = i % 3 == 0;
    trace.push_back(is_scan ? kGranules / 2 + i / 3 % (kGranules / 2) : zipf.Draw(random));
  }
  return trace;
}

}  // namespace verbena::paging
