#include "sim/paging/store.h"

#include "base/check.h"

namespace verbena::sim {

using paging::ReadOutcome;
using paging::WriteOutcome;

void PagingStore::Start(uint32_t granule, bool is_write, Time now) {
  const auto most = static_cast<uint64_t>(plan_.latency_max.nanoseconds());
  const auto latency = static_cast<int64_t>(1 + random_.Below(most));
  const bool joins = last_ends_ > now && last_.is_write == is_write &&
                     last_.granule + 1 == granule && random_.Chance(3, 4);
  if (!joins) last_ends_ = now + Nanoseconds(latency);
  last_ = {granule, is_write};
  under_way_.emplace(last_ends_, last_);
}

void PagingStore::SetCopy(uint32_t granule, uint64_t contents) {
  const bool is_corrupt = !is_calm_ && random_.Chance(plan_.corruption, 1000);
  copies_[granule] = {contents, is_corrupt};
}

std::optional<uint64_t> PagingStore::Contents(uint32_t granule) const {
  const auto found = copies_.find(granule);
  return found == copies_.end() ? std::nullopt : std::optional(found->second.contents);
}

std::optional<PagingStore::Done> PagingStore::TakeDone(Time now) {
  if (next() > now) return std::nullopt;
  const Job job = under_way_.begin()->second;
  under_way_.erase(under_way_.begin());
  Done done = {.granule = job.granule, .is_write = job.is_write};
  if (job.is_write) {
    done.write = EndWrite(now);
  } else {
    done.read = EndRead(job.granule);
    done.contents = copies_.at(job.granule).contents;
  }
  return done;
}

WriteOutcome PagingStore::EndWrite(Time now) {
  if (copies_.size() >= plan_.capacity && (!is_calm_ || plan_.stays_full)) {
    return WriteOutcome::kFull;
  }
  if (is_calm_) return WriteOutcome::kGood;
  const bool fails = now < outage_end_ || random_.Chance(plan_.write_failures, 1000);
  return fails ? WriteOutcome::kFailed : WriteOutcome::kGood;
}

ReadOutcome PagingStore::EndRead(uint32_t granule) {
  if (copies_.at(granule).is_corrupt) return ReadOutcome::kCorrupt;
  const bool fails = !is_calm_ && random_.Chance(plan_.read_failures, 1000);
  return fails ? ReadOutcome::kFailed : ReadOutcome::kGood;
}

void PagingStore::CalmDown() { is_calm_ = true; }

}  // namespace verbena::sim
