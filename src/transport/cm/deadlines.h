#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/time.h"

namespace verbena::transport {

// Deadlines of objects that have ids, the earliest first; one at most for each. A node moves with
// its deadline, so that memory is taken once per object. Its owner guards it.
template <class Id>
class Deadlines {
 public:
  // The deadline of `id` was `from` and is now `to`; Never: it has none.
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
  // The first one if its time has come. It stays until it is moved.
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
