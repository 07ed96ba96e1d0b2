#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/time.h"

namespace verbena::transport {

// Deadlines of objects with ids, the earliest first; at most one per object. The node is reused
// when a deadline moves, so memory is allocated once per object. Its owner guards it.
template <class Id>
class Deadlines {
 public:
  // The deadline of `id` changes from `from` to `to`; Never: none.
  void Move(Id id, Time from, Time to) {
    if (from == to) return;
    typename Set::node_type node;
    if (from != Time::Never()) {
      node = set_.extract({from, id});
      CHECK(!node.empty());
    }
    if (to == Time::Never()) return;
    if (node.empty()) {
      CHECK(set_.emplace(to, id).second);
      return;
    }
    node.value().first = to;
    CHECK(set_.insert(std::move(node)).inserted);
  }

  [[nodiscard]] Time next() const { return set_.empty() ? Time::Never() : set_.begin()->first; }
  // The first one, if it is due. It stays until it is moved.
  [[nodiscard]] std::optional<Id> Due(Time now) const {
    if (next() > now || set_.empty()) return std::nullopt;
    return set_.begin()->second;
  }
  [[nodiscard]] std::size_t size() const { return set_.size(); }

 private:
  using Set = std::set<std::pair<Time, Id>>;

  Set set_;
};

}  // namespace verbena::transport
