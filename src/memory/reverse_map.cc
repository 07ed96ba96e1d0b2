#include "memory/reverse_map.h"

#include <algorithm>

namespace verbena::memory {

void ReverseMap::Insert(Block block, Place place) {
  records_.emplace(block, place);
  ++records_by_shift_[block.shift()];
}

void ReverseMap::Erase(Block block, Place place) {
  const auto [from, to] = records_.equal_range(block);
  const auto it = std::find_if(from, to, [&](const auto& r) { return r.second == place; });
  CHECK(it != to);
  records_.erase(it);
  --records_by_shift_[block.shift()];
}

uint64_t ReverseMap::bytes() const {
  // A node holds the record, a link and the hash; the allocator adds a word.
  constexpr uint64_t kNodeBytes = sizeof(decltype(records_)::value_type) + 3 * sizeof(void*);
  return records_.size() * kNodeBytes + records_.bucket_count() * sizeof(void*);
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
