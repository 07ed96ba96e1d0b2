#include "sim/paging/actor.h"

#include <algorithm>

namespace verbena::sim {

using paging::Need;
using paging::View;

uint32_t PagingActor::ChooseGranule() {
  if (random_.Chance(plan_.sequential, 1000)) return next_;
  const bool is_hot = random_.Chance(plan_.hot, 1000);
  return static_cast<uint32_t>(random_.Below(is_hot ? plan_.granules / 16 + 1 : plan_.granules));
}

void PagingActor::ChooseGoal() {
  goal_.clear();
  used_ = 0;
  need_ = random_.Chance(plan_.writing, 1000) ? Need::kWrite : Need::kRead;
  if (view_ == View::kCpu) {
    const uint64_t count = 1 + random_.Below(paging::kMinResidency);
    while (goal_.size() < count) goal_.push_back(ChooseGranule());
  } else {
    const uint32_t first = ChooseGranule();
    const uint64_t count = 1 + random_.Below(plan_.run_max);
    for (uint32_t i = first; i < plan_.granules && goal_.size() < count; ++i) goal_.push_back(i);
  }
  next_ = (goal_.back() + 1) % plan_.granules;
}

bool PagingActor::Work(PagingMemory& memory) {
  const bool is_done = view_ == View::kCpu ? WorkTogether(memory) : WorkInOrder(memory);
  if (!is_done) return false;
  ++goals_reached_;
  last_used_ = goal_.back();
  goal_.clear();
  return true;
}

bool PagingActor::WorkTogether(PagingMemory& memory) {
  const auto is_mapped = [&](uint32_t granule) { return memory.IsMapped(granule, view_, need_); };
  if (!std::all_of(goal_.begin(), goal_.end(), is_mapped)) return false;
  for (const uint32_t granule : goal_) memory.Access(granule, need_);
  return true;
}

bool PagingActor::WorkInOrder(PagingMemory& memory) {
  for (; used_ < goal_.size(); ++used_) {
    if (!memory.IsMapped(goal_[used_], view_, need_)) return false;
    memory.Access(goal_[used_], need_);
  }
  return true;
}

PagingMemory::Wanted PagingActor::Missing(const PagingMemory& memory) const {
  if (view_ == View::kAdapter) {
    const auto left = static_cast<uint32_t>(goal_.size() - used_);
    return {.run = {goal_[used_], left}, .need = need_, .view = view_};
  }
  const auto is_missing = [&](uint32_t granule) { return !memory.IsMapped(granule, view_, need_); };
  const uint32_t missing = *std::find_if(goal_.begin(), goal_.end(), is_missing);
  return {.run = {missing, 1}, .need = need_, .view = view_};
}

// An actor that is refused drops its goal.
void PagingActor::OnAnswer(const PagingMemory::Answer& answer) {
  ticket_ = {};
  if (answer.ready == 0) goal_.clear();
}

}  // namespace verbena::sim
