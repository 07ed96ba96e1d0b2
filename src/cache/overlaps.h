#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/interval_map.h"
#include "cache/entry.h"

namespace verbena::cache {

// All entries by their bytes, which may overlap. Finds those over a range in O(log n) steps plus
// one for each: entries are kept by the power of two of their length, and one of length 2^k or
// more, but less than twice that, begins less than 2^(k+1) before the range or within it. Of the
// entries of a class that do not overlap each other, at most two are looked at in vain.
//
// Under the core's mutex.
class Overlaps {
 public:
  // Throws std::bad_alloc, and then nothing has changed.
  void Insert(EntryNumber number, Interval bytes) {
    const size_t k = ClassOf(bytes);
    const bool is_new = maps_[k].emplace(std::pair(bytes.first, number), bytes.last).second;
    CHECK(is_new);
    used_classes_ |= uint64_t{1} << k;
    ++size_;
  }
  void Erase(EntryNumber number, Interval bytes) {
    const size_t k = ClassOf(bytes);
    CHECK(maps_[k].erase(std::pair(bytes.first, number)) == 1);
    if (maps_[k].empty()) used_classes_ &= ~(uint64_t{1} << k);
    --size_;
  }

  // Calls fn(number, bytes) for each entry that overlaps `range`; fn may erase that entry.
  template <class Fn>
  void ForEach(Interval range, Fn fn) {
    for (uint64_t classes = used_classes_; classes != 0; classes &= classes - 1) {
      const auto k = static_cast<size_t>(std::countr_zero(classes));
      const uint64_t reach = k + 1 < kClasses ? (uint64_t{1} << (k + 1)) - 1 : ~uint64_t{0};
      const uint64_t from = range.first > reach ? range.first - reach : 0;
      for (auto it = maps_[k].lower_bound({from, 0});
           it != maps_[k].end() && it->first.first <= range.last;) {
        const auto [key, last] = *it++;
        if (last >= range.first) fn(key.second, Interval{key.first, last});
      }
    }
  }

  [[nodiscard]] size_t size() const { return size_; }

 private:
  using Map = std::map<std::pair<uint64_t, EntryNumber>, uint64_t>;  // first, number: last
  static constexpr size_t kClasses = 64;

  // The class of lengths 2^k to 2^(k+1) - 1. All of 2^64 is in the last one.
  static size_t ClassOf(Interval bytes) {
    const uint64_t length = bytes.last - bytes.first + 1;
    return length == 0 ? kClasses - 1 : static_cast<size_t>(std::bit_width(length)) - 1;
  }

  std::array<Map, kClasses> maps_;
  uint64_t used_classes_ = 0;  // bit k: maps_[k] is not empty
  size_t size_ = 0;
};

}  // namespace verbena::cache
