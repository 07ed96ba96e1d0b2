#include "sim/paging/memory.h"

#include <algorithm>

namespace verbena::sim {

using paging::Action;
using paging::ReadOutcome;
using paging::Rights;
using paging::Verb;
using paging::WriteOutcome;

void PagingMemory::Demand(bool condition, const char* what, uint32_t granule) {
  if (!condition) findings_.Add("paging", "granule " + std::to_string(granule) + ": " + what);
}

void PagingMemory::Discard(paging::Run run) {
  for (uint32_t index = run.first; index < run.end(); ++index) {
    Granule& granule = granules_[index];
    granule.truth = 0;
    granule.is_lost = false;
    granule.read_failures = 0;
    granule.is_given_up = granule.is_reading;
  }
}

void PagingMemory::OnDone(const PagingStore::Done& done, Time now) {
  Granule& granule = granules_[done.granule];
  if (done.is_write) {
    granule.is_writing = false;
    const bool is_good = done.write == WriteOutcome::kGood;
    // The copy is torn if the granule was changed during the write.
    const bool is_whole = granule.contents == granule.at_start;
    if (is_good) store_.SetCopy(done.granule, is_whole ? granule.contents : kGarbage);
    // Patience starts again with a good write, even if the store is not reported as well yet.
    if (is_good || reported_ == paging::StoreReport::kWell) ill_since_ = now;
    was_good_ = is_good;
    return;
  }
  granule.is_reading = false;
  const bool is_good = done.read == ReadOutcome::kGood;
  if (is_good) granule.contents = done.contents;
  granule.read_failures = is_good ? 0 : granule.read_failures + 1;
  if (done.read == ReadOutcome::kCorrupt && !granule.is_given_up) granule.is_lost = true;
  granule.is_given_up = false;
}

void PagingMemory::CheckLoss(uint32_t index, const paging::ResidentSet& resident_set) {
  Granule& granule = granules_[index];
  const bool is_broken = resident_set.granule(index).state == paging::ResidentSet::State::kBroken;
  if (is_broken && !granule.is_lost) {
    Demand(granule.read_failures >= options_.read_attempts, "taken for lost too early", index);
    granule.is_lost = true;
  }
  Demand(is_broken == granule.is_lost, "a loss was not seen", index);
}

void PagingMemory::CarryOut(const paging::ActionList& actions, Time now) {
  in_memory_before_ = in_memory_;
  for (const Action& action : actions) {
    if (action.verb == Verb::kReady) {
      Ready(action);
    } else if (action.verb == Verb::kRefused) {
      Refused(action, now);
    } else if (action.verb == Verb::kSwappedOut) {
      ++swap_outs_ended_;
    } else if (action.verb == Verb::kReport) {
      Report(action.report);
    } else {
      for (uint32_t i = 0; i < action.run.count; ++i) {
        CarryOutOne(action, action.run.first + i, now);
      }
    }
  }
}

void PagingMemory::CarryOutOne(const Action& action, uint32_t index, Time now) {
  Granule& granule = granules_[index];
  switch (action.verb) {
    case Verb::kUnmap:
      (action.view == paging::View::kCpu ? granule.cpu : granule.adapter) = Rights::kNone;
      return;
    case Verb::kWrite:
      return Write(granule, index, now);
    case Verb::kRead:
      return Read(granule, index, now);
    case Verb::kDrop:
      return Drop(granule, index);
    case Verb::kMakeZero:
      return MakeZero(granule, index);
    case Verb::kMap:
      return Map(granule, index, action);
    case Verb::kForget:
      return Forget(granule, index);
    case Verb::kReady:
    case Verb::kRefused:
    case Verb::kSwappedOut:
    case Verb::kReport:
      break;
  }
  UNREACHABLE();
}

void PagingMemory::Write(Granule& granule, uint32_t index, Time now) {
  Demand(granule.is_in_memory && !granule.is_busy(), "written while it is not there", index);
  Demand(!granule.is_mapped(), "written while it is mapped", index);
  Demand(!store_.HasCopy(index), "written although it is stored", index);
  Demand(granule.contents == granule.truth, "written, and not what it should be", index);
  granule.is_writing = true;
  granule.at_start = granule.contents;
  store_.Write(index, now);
}

void PagingMemory::Read(Granule& granule, uint32_t index, Time now) {
  Demand(store_.HasCopy(index), "read, and not stored", index);
  const bool is_again = granule.is_in_memory && granule.read_failures > 0;
  Demand(!granule.is_busy() && (!granule.is_in_memory || is_again), "read over itself", index);
  if (!granule.is_in_memory) GrowBy(1);
  granule.is_in_memory = granule.is_reading = true;
  granule.contents = kGarbage;
  if (store_.HasCopy(index)) store_.Read(index, now);
}

void PagingMemory::Drop(Granule& granule, uint32_t index) {
  Demand(granule.is_in_memory && !granule.is_busy(), "dropped while it is not there", index);
  Demand(!granule.is_mapped(), "dropped while it is mapped", index);
  granule.is_in_memory = false;
  GrowBy(-1);
  Demand(IsSafe(granule, index), "dropped, and nowhere else", index);
}

void PagingMemory::MakeZero(Granule& granule, uint32_t index) {
  Demand(!granule.is_in_memory, "made zero while it is there", index);
  Demand(granule.truth == 0 && !granule.is_lost, "made zero, and should not be", index);
  granule.is_in_memory = true;
  granule.contents = 0;
  GrowBy(1);
}

void PagingMemory::Map(Granule& granule, uint32_t index, const Action& action) {
  Demand(granule.is_in_memory && !granule.is_reading, "mapped while it is not there", index);
  Demand(!granule.is_lost, "mapped, and its contents are lost", index);
  Demand(granule.contents == granule.truth, "mapped with other contents", index);
  (action.view == paging::View::kCpu ? granule.cpu : granule.adapter) =
      action.is_writable ? Rights::kWrite : Rights::kRead;
}

void PagingMemory::Forget(Granule& granule, uint32_t index) {
  Demand(store_.HasCopy(index), "forgotten, and not stored", index);
  Demand(!granule.is_busy(), "forgotten while it is read or written", index);
  store_.Forget(index);
  // The program is about to write the granule, but has not yet: the dropped copy equals memory.
  Demand(IsSafe(granule, index), "forgotten, and nowhere else", index);
}

bool PagingMemory::IsSafe(const Granule& granule, uint32_t index) const {
  if (granule.truth == 0 || granule.is_lost) return true;
  if (granule.is_in_memory && !granule.is_reading && granule.contents == granule.truth) return true;
  return store_.Contents(index) == granule.truth;
}

void PagingMemory::GrowBy(int32_t count) {
  in_memory_ += static_cast<uint32_t>(count);
  if (count < 0) return;
  const bool is_well = reported_ == paging::StoreReport::kWell;
  const uint32_t overrun = is_well ? 0 : paging::Shares(budget_).overrun_max;
  if (in_memory_ > std::max(budget_ + overrun, in_memory_before_)) {
    findings_.Add("paging", std::to_string(in_memory_) + " granules in memory");
  }
}

void PagingMemory::Ready(const Action& action) {
  const auto found = wanted_.find(action.ticket);
  if (found == wanted_.end()) return findings_.Add("paging", "an answer that no request waits for");
  const Wanted wanted = found->second;
  wanted_.erase(found);
  const bool fits = action.run.first == wanted.run.first && action.run.count >= 1 &&
                    action.run.count <= wanted.run.count;
  if (!fits) return findings_.Add("paging", "ready with other granules than were wanted");
  for (uint32_t i = 0; i < action.run.count; ++i) {
    const uint32_t index = action.run.first + i;
    Demand(IsMapped(index, wanted.view, wanted.need), "ready, and not mapped", index);
  }
  answers_[action.ticket] = {.ready = action.run.count};
}

void PagingMemory::Refused(const Action& action, Time now) {
  const auto found = wanted_.find(action.ticket);
  if (found == wanted_.end()) return findings_.Add("paging", "an answer that no request waits for");
  const uint32_t index = found->second.run.first;
  if (action.error == paging::RequestError::kBroken) {
    // CheckLoss marks an unreadable granule as lost only after this.
    Granule& granule = granules_[index];
    const bool is_unreadable = granule.read_failures >= options_.read_attempts;
    Demand(granule.is_lost || is_unreadable, "refused, and not lost", index);
  } else {
    const bool is_crowded = wanted_.size() > options_.tickets_max;
    const bool is_ill = reported_ != paging::StoreReport::kWell;
    const bool is_hopeless = is_ill && !was_good_ && now - ill_since_ >= options_.patience;
    Demand(is_crowded || is_hopeless, "refused without need", index);
  }
  wanted_.erase(found);
  answers_[action.ticket] = {.ready = 0, .error = action.error};
}

void PagingMemory::Report(paging::StoreReport report) {
  ++reports_;
  if (report == reported_) findings_.Add("paging", "reported twice");
  if (was_good_ != (report == paging::StoreReport::kWell)) {
    findings_.Add("paging", "a false report");
  }
  reported_ = report;
}

bool PagingMemory::IsMapped(uint32_t granule, paging::View view, paging::Need need) const {
  const Granule& at = granules_[granule];
  const Rights rights = view == paging::View::kCpu ? at.cpu : at.adapter;
  return rights >= (need == paging::Need::kWrite ? Rights::kWrite : Rights::kRead);
}

void PagingMemory::Access(uint32_t index, paging::Need need) {
  Granule& granule = granules_[index];
  Demand(granule.is_in_memory && !granule.is_reading, "used while it is not there", index);
  Demand(granule.contents == granule.truth, "used with other contents", index);
  if (need == paging::Need::kRead) return;
  Demand(!store_.HasCopy(index), "changed, and the old contents stay stored", index);
  granule.truth = granule.contents = ++last_contents_;
}

void PagingMemory::Compare(const paging::ResidentSet& resident_set) {
  for (uint32_t index = 0; index < granules_.size(); ++index) {
    const Granule& granule = granules_[index];
    const paging::ResidentSet::Granule said = resident_set.granule(index);
    Demand(said.cpu == granule.cpu && said.adapter == granule.adapter, "other rights", index);
    using State = paging::ResidentSet::State;
    const bool is_outside = said.state == State::kZero || said.state == State::kSwapped;
    if (said.state != State::kBroken) Demand(is_outside != granule.is_in_memory, "place", index);
    Demand((said.state == State::kBroken) == granule.is_lost, "broken or not", index);
    Demand((said.state == State::kWriting) == granule.is_writing, "writing or not", index);
    if (granule.is_busy() || granule.is_lost) continue;
    const auto copy = store_.Contents(index);
    Demand(!copy.has_value() || *copy == granule.truth, "stale contents stay stored", index);
  }
}

void PagingMemory::CheckKept() {
  for (uint32_t index = 0; index < granules_.size(); ++index) {
    Demand(IsSafe(granules_[index], index), "lost", index);
  }
}

}  // namespace verbena::sim
