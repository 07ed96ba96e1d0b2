#include "queue/tag_matcher.h"

#include <algorithm>

#include "base/check.h"

namespace verbena::queue {
namespace {

constexpr uint32_t kIndexBits = 16;
static_assert(TagMatcher::kCapacityMax == 1U << kIndexBits);

}  // namespace

TagMatcher::TagMatcher(uint32_t capacity, uint32_t sges_max)
    : sges_max_(sges_max),
      entries_(capacity),
      sges_(std::make_unique<Sge[]>(size_t{capacity} * sges_max)) {
  CHECK(capacity >= 1 && capacity <= kCapacityMax);
  list_.reserve(capacity);
  free_.reserve(capacity);
  for (uint32_t index = capacity; index-- > 0;) free_.push_back(index);
}

TagHandle TagMatcher::HandleOf(uint32_t index) const {
  return TagHandle(uint32_t{entries_[index].variant} << kIndexBits | index);
}

Result<TagHandle, TagMatcher::AddError> TagMatcher::Add(const TaggedReceive& receive) {
  if (receive.sges.size() > sges_max_) return Fail(AddError::kTooManySges);
  if (free_.empty()) return Fail(AddError::kFull);
  const uint32_t index = free_.back();
  free_.pop_back();
  Entry& entry = entries_[index];
  entry = {.id = receive.id,
           .tag = receive.tag,
           .mask = receive.mask,
           .sge_count = static_cast<uint32_t>(receive.sges.size()),
           .variant = static_cast<uint16_t>(entry.variant + 1),
           .state = State::kListed};
  std::ranges::copy(receive.sges, &sges_[size_t{index} * sges_max_]);
  for (const Sge& sge : receive.sges) entry.length += sge.length;
  list_.push_back(index);
  ActivateIfInStep();
  return HandleOf(index);
}

bool TagMatcher::Remove(TagHandle handle) {
  const auto place =
      std::ranges::find_if(list_, [&](uint32_t index) { return HandleOf(index) == handle; });
  if (place == list_.end()) return false;
  const uint32_t index = *place;
  Unlist(static_cast<size_t>(place - list_.begin()));
  Free(index);
  return true;
}

std::optional<TagMatcher::Index> TagMatcher::Match(uint64_t tag) {
  for (size_t place = 0; place < active_; ++place) {
    const uint32_t index = list_[place];
    Entry& entry = entries_[index];
    if ((tag & entry.mask) != entry.tag) continue;
    Unlist(place);
    entry.state = State::kTaken;
    return Index(index);
  }
  return std::nullopt;
}

void TagMatcher::Give(Index index) {
  CHECK(At(index).state == State::kTaken);
  Free(index.value());
}

void TagMatcher::DiscountUnexpected() {
  --unexpected_;
  ActivateIfInStep();
}

void TagMatcher::Synchronize(uint32_t seen) {
  seen_ = seen;
  ActivateIfInStep();
}

void TagMatcher::Unlist(size_t place) {
  list_.erase(list_.begin() + static_cast<std::ptrdiff_t>(place));
  if (place < active_) --active_;
}

void TagMatcher::Free(uint32_t index) {
  entries_[index].state = State::kFree;
  free_.push_back(index);
}

bool TagMatcher::IsConsistent() const {
  const auto is_in = [this](State state) {
    return [this, state](uint32_t index) { return entries_[index].state == state; };
  };
  if (active_ > list_.size()) return false;
  if (!std::ranges::all_of(list_, is_in(State::kListed))) return false;
  if (!std::ranges::all_of(free_, is_in(State::kFree))) return false;
  const auto taken = std::ranges::count(entries_, State::kTaken, &Entry::state);
  return list_.size() + free_.size() + static_cast<size_t>(taken) == entries_.size();
}

}  // namespace verbena::queue
