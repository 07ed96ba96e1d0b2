#include "paging/read_ahead.h"

#include <algorithm>

namespace verbena::paging {

Run ReadAhead::OnRequest(Run wanted) {
  const Run nothing = {wanted.first, 0};
  ++requests_;
  Sequence* const found = Find(wanted);
  if (found == nullptr) {
    LeastRecent() = {
        .next = wanted.end(), .ahead = wanted.end(), .window = 0, .used_at = requests_};
    return nothing;
  }
  found->used_at = requests_;
  if (found->next == wanted.end()) return nothing;  // the same run again
  found->next = std::max(found->next, wanted.end());
  found->ahead = std::max(found->ahead, found->next);
  // Starts half a window before the end, so that the next window arrives before it is needed.
  if (found->ahead - found->next > found->window / 2) return nothing;
  last_ = found;
  found->window = std::min(ceiling_, std::max(1U, found->window * 2));
  const uint64_t from = found->ahead;
  found->ahead = std::max(from, found->next + found->window);
  return {static_cast<uint32_t>(from), static_cast<uint32_t>(found->ahead - from)};
}

void ReadAhead::OnHit() { ceiling_ = std::min(window_max_, ceiling_ + 1); }

// Also finds a sequence that ends where the request ends: a granule that was read is often written
// next, which starts no new sequence.
ReadAhead::Sequence* ReadAhead::Find(Run wanted) {
  const auto goes_on = [wanted](const Sequence& sequence) {
    return (sequence.next <= wanted.first && wanted.first <= sequence.ahead) ||
           sequence.next == wanted.end();
  };
  const auto found = std::find_if(sequences_.begin(), sequences_.end(), goes_on);
  return found == sequences_.end() ? nullptr : &*found;
}

ReadAhead::Sequence& ReadAhead::LeastRecent() {
  return *std::min_element(
      sequences_.begin(), sequences_.end(),
      [](const Sequence& a, const Sequence& b) { return a.used_at < b.used_at; });
}

}  // namespace verbena::paging
