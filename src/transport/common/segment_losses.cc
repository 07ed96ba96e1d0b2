#include "transport/common/segment_losses.h"

#include <algorithm>
#include <cstring>

namespace verbena::transport {

// The last bytes of addresses differ most.
size_t SegmentLosses::IndexOf(const SegmentPath& path) {
  uint64_t from = 0, to = 0;
  std::memcpy(&from, &path.from.bytes[8], sizeof from);
  std::memcpy(&to, &path.to.bytes[8], sizeof to);
  static_assert(kPaths == 1U << 6);
  return static_cast<size_t>((from * 31 + to * 17 + path.size_class) * 0x9E37'79B9'7F4A'7C15 >> 58);
}

bool SegmentLosses::OnLost(const SegmentPath& path, uint32_t packets, Time now) {
  std::optional<Entry>& entry = entries_[IndexOf(path)];
  if (entry && entry->path != path) Erase(entry);
  if (!entry) {
    entry = Entry{.path = path, .packets = packets};
    ++known_;
  }
  if (entry->is_single) return false;  // the group was sent before the path was learned
  entry->packets = std::min(entry->packets, packets);
  entry->until = now + kDoubtFor;
  if (++entry->losses >= kLossesToLearn) {
    entry->is_single = true;
    ++singles_;
    entry->until = now + entry->single_for;
  }
  next_time_ = std::min(next_time_, entry->until);
  if (!entry->is_single) return false;
  const bool is_first = !WasLearned(path);
  entry->single_for = std::min(entry->single_for * 2, kSingleForMax);
  return is_first;
}

// Whether the path was learned for any size class since it was last cleared.
bool SegmentLosses::WasLearned(SegmentPath path) const {
  for (path.size_class = 0; path.size_class < SegmentPath::kSizeClasses; ++path.size_class) {
    const std::optional<Entry>& entry = entries_[IndexOf(path)];
    if (entry && entry->path == path && entry->single_for > kSingleFor) return true;
  }
  return false;
}

// A group that is smaller than those that were lost proves nothing: some networks deliver small
// groups only.
void SegmentLosses::OnArrived(const SegmentPath& path, uint32_t packets) {
  std::optional<Entry>& entry = entries_[IndexOf(path)];
  if (!entry || entry->path != path || entry->is_single || packets < entry->packets) return;
  Erase(entry);
}

void SegmentLosses::Expire(Time now) {
  next_time_ = Time::Never();
  for (std::optional<Entry>& entry : entries_) {
    if (!entry) continue;
    if (entry->until <= now && !entry->is_single) {
      Erase(entry);
      continue;
    }
    if (entry->until <= now) {
      entry->is_single = false;
      --singles_;
      entry->losses = kLossesToLearn - 1;
      entry->until = now + entry->single_for;
    }
    next_time_ = std::min(next_time_, entry->until);
  }
}

void SegmentLosses::Erase(std::optional<Entry>& entry) {
  singles_ -= entry->is_single ? 1 : 0;
  --known_;
  entry.reset();
}

void SegmentLosses::Clear() {
  entries_.fill(std::nullopt);
  known_ = singles_ = 0;
  next_time_ = Time::Never();
}

bool SegmentLosses::IsConsistent() const {
  size_t known = 0, singles = 0;
  for (const std::optional<Entry>& entry : entries_) {
    known += entry ? 1 : 0;
    singles += entry && entry->is_single ? 1 : 0;
    if (entry && entry->until < next_time_) return false;
  }
  return known == known_ && singles == singles_;
}

}  // namespace verbena::transport
