#include "memory/translation/reverse_map.h"

#include <algorithm>
#include <utility>

namespace verbena::memory {

void ReverseMap::Insert(Block block, Place place) {
  if (spares_.capacity() == 0) spares_.reserve(kSparesMax);
  if (spares_.empty()) {
    records_.emplace(block, place);
  } else {
    Records::node_type node = std::move(spares_.back());
    spares_.pop_back();
    node.key() = block;
    node.mapped() = place;
    records_.insert(std::move(node));
  }
  ++records_by_shift_[block.shift()];
}

void ReverseMap::Erase(Block block, Place place) {
  const auto [from, to] = records_.equal_range(block);
  const auto it = std::find_if(from, to, [&](const auto& r) { return r.second == place; });
  CHECK(it != to);
  Records::node_type node = records_.extract(it);
  if (spares_.size() < kSparesMax) spares_.push_back(std::move(node));
  --records_by_shift_[block.shift()];
}

uint64_t ReverseMap::bytes() const {
  // A node holds the record, a link and the hash; the allocator adds a word.
  constexpr uint64_t kNodeBytes = sizeof(decltype(records_)::value_type) + 3 * sizeof(void*);
  return (records_.size() + spares_.size()) * kNodeBytes + records_.bucket_count() * sizeof(void*) +
         spares_.capacity() * sizeof(Records::node_type);
}

bool ReverseMap::IsConsistent() const {
  std::array<uint64_t, kShiftEnd> counted{};
  for (const auto& [block, place] : records_) {
    ++counted[block.shift()];
    if (place.table == nullptr) return false;
    const uint64_t end =
        place.table->is_linear() ? place.table->leaf_count() : place.table->page_count();
    if (place.number >= end) return false;
  }
  return counted == records_by_shift_;
}

}  // namespace verbena::memory
