#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "base/check.h"

namespace verbena {

// All numbers from `first` to `last`, both included. So an interval can cover all of 2^64, and no
// code computes one past the end. Never empty.
struct Interval {
  uint64_t first;
  uint64_t last;

  [[nodiscard]] constexpr bool Contains(uint64_t point) const {
    return first <= point && point <= last;
  }
  [[nodiscard]] constexpr bool Overlaps(Interval other) const {
    return first <= other.last && other.first <= last;
  }
  friend constexpr bool operator==(Interval, Interval) = default;
};

// Maps disjoint intervals of 64-bit numbers to values.
//
// Assign and Erase cut the entries that they meet, and both remainders keep a copy of the value.
// Entry::origin is the first number of the interval as it was inserted, and cuts do not change it:
// a value that is relative to the start of its interval (an offset in a file, say) stays valid with
// it.
//
// Invariant: entries are disjoint and ordered. Neighbours with equal values are not merged. Each
// operation costs O(log n) plus one step per overlapping entry. Not thread-safe: its owner guards
// it.
template <class T>
class IntervalMap {
 public:
  struct Entry {
    Interval interval;
    uint64_t origin;
    T value;
  };

  // False, and nothing changes, when any part of the interval is taken.
  [[nodiscard]] bool Insert(Interval interval, T value) {
    CHECK(interval.first <= interval.last);
    const auto next = entries_.lower_bound(interval.first);
    if (next != entries_.end() && next->second.interval.Overlaps(interval)) return false;
    if (next != entries_.begin() && std::prev(next)->second.interval.Overlaps(interval)) {
      return false;
    }
    Emplace(next, interval, std::move(value));
    return true;
  }

  // Maps the whole interval to `value`, replacing what was there.
  void Assign(Interval interval, T value) {
    const auto next = ClearOut(interval);
    Emplace(next, interval, std::move(value));
  }

  // Unmaps the whole interval.
  void Erase(Interval interval) { ClearOut(interval); }

  // The entry at `point`, or nullptr. Valid until the entry is cut, erased or assigned over.
  [[nodiscard]] const Entry* Find(uint64_t point) const {
    auto after = entries_.upper_bound(point);
    if (after == entries_.begin()) return nullptr;
    const Entry& entry = std::prev(after)->second;
    return entry.interval.last >= point ? &entry : nullptr;
  }

  // Calls fn(const Entry&) for each entry that overlaps the interval, in order and uncut. `fn` must
  // not change the map.
  template <class Fn>
  void ForEachOverlap(Interval interval, Fn fn) const {
    CHECK(interval.first <= interval.last);
    auto it = entries_.upper_bound(interval.first);
    if (it != entries_.begin() && std::prev(it)->second.interval.Overlaps(interval)) --it;
    for (; it != entries_.end() && it->first <= interval.last; ++it) fn(it->second);
  }

  // Whether every number of the interval is mapped.
  [[nodiscard]] bool Covers(Interval interval) const {
    CHECK(interval.first <= interval.last);
    uint64_t point = interval.first;
    for (const Entry* entry = Find(point); entry != nullptr; entry = Find(point)) {
      if (entry->interval.last >= interval.last) return true;
      point = entry->interval.last + 1;
    }
    return false;
  }

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  void clear() { entries_.clear(); }

  [[nodiscard]] bool IsConsistent() const {
    std::optional<uint64_t> previous_last;
    for (const auto& [first, entry] : entries_) {
      const Interval interval = entry.interval;
      if (interval.first != first || interval.last < first || entry.origin > first) return false;
      if (previous_last && *previous_last >= first) return false;
      previous_last = interval.last;
    }
    return true;
  }

 private:
  using Entries = std::map<uint64_t, Entry>;  // by Entry::interval.first

  void Emplace(typename Entries::iterator next, Interval interval, T value) {
    entries_.emplace_hint(next, interval.first, Entry{interval, interval.first, std::move(value)});
  }

  // Removes the interval from all entries; returns the first entry after it.
  typename Entries::iterator ClearOut(Interval interval) {
    CHECK(interval.first <= interval.last);
    const auto begin = CutBefore(interval.first);
    const auto end = interval.last == std::numeric_limits<uint64_t>::max()
                         ? entries_.end()
                         : CutBefore(interval.last + 1);
    return entries_.erase(begin, end);
  }

  // Splits the entry that contains both `point` - 1 and `point`, if there is one; returns the first
  // entry at or after `point`.
  typename Entries::iterator CutBefore(uint64_t point) {
    const auto next = entries_.lower_bound(point);
    if (next == entries_.begin()) return next;
    Entry& entry = std::prev(next)->second;
    if (entry.interval.last < point) return next;
    const Interval upper = {point, entry.interval.last};
    // The allocation comes first: if it throws, the map is unchanged.
    const auto cut = entries_.emplace_hint(next, point, Entry{upper, entry.origin, entry.value});
    entry.interval.last = point - 1;
    return cut;
  }

  Entries entries_;
};

}  // namespace verbena
