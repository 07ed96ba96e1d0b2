#include "cache/core.h"

#include <utility>

namespace verbena::cache {

Core::Core(std::unique_ptr<RegistrationBackend> backend, const CacheOptions& options,
           EventSource source, NowFunction now)
    : backend_(std::move(backend)),
      options_(options),
      source_(std::move(source)),
      now_(now),
      follows_mappings_(backend_->follows_mappings()),
      tables_(options.entries_max),
      eviction_(options.entries_max) {
  if (MemoryEvents* const events = source_.get()) is_listening_ = events->Add(tables_.gate);
  checks_events_ = is_listening_ && !follows_mappings_ && options_.checks_pending_events;
}

Core::~Core() {
  if (is_listening_) source_.get()->Remove(tables_.gate);
}

CacheStatistics Core::Query() const {
  if (tables_.gate.is_child()) return {};
  const MutexLock lock(mutex_);
  CacheStatistics statistics = statistics_;
  uint64_t acquisitions = acquisitions_ended_;
  for (EntryNumber number = 0; number < number_count_; ++number) {
    acquisitions += tables_.references.acquisitions(number);
  }
  statistics.hits_fast = acquisitions - acquisitions_slow_;
  statistics.entries = taken_;
  return statistics;
}

namespace {

CacheEntryStatus StatusOf(RegistrationState state, bool has_handles) {
  switch (state) {
    case RegistrationState::kLive:
      return has_handles ? CacheEntryStatus::kInUse : CacheEntryStatus::kKept;
    case RegistrationState::kHeld:
      return CacheEntryStatus::kInUse;
    case RegistrationState::kDetached:
      return CacheEntryStatus::kDetached;
    case RegistrationState::kParked:
      return CacheEntryStatus::kParked;
    case RegistrationState::kFree:
    case RegistrationState::kChanging:
      break;
  }
  return CacheEntryStatus::kChanging;
}

}  // namespace

std::vector<CacheEntry> Core::List() const {
  if (tables_.gate.is_child()) return {};
  std::vector<CacheEntry> list;
  const MutexLock lock(mutex_);
  for (EntryNumber number = 0; number < number_count_; ++number) {
    const RegistrationState state = StateOf(number);
    if (state == RegistrationState::kFree) continue;
    const Entry& entry = tables_.entries[number];
    const uint64_t handles = tables_.references.handles(number);
    list.push_back({.number = number,
                    .range = {entry.bytes.first, LengthOf(entry.bytes)},
                    .access = entry.access,
                    .l_key = entry.keys.l_key,
                    .r_key = entry.keys.r_key,
                    .status = StatusOf(state, handles > 0),
                    .handles = handles});
  }
  return list;
}

bool Core::IsConsistent() const {
  const MutexLock lock(mutex_);
  size_t found = 0, indexed = 0, evictable = 0;
  uint64_t bytes = 0;
  for (EntryNumber number = 0; number < number_count_; ++number) {
    const RegistrationState state = StateOf(number);
    if (state == RegistrationState::kFree) continue;
    ++found;
    bytes += LengthOf(tables_.entries[number].bytes);
    if (state != RegistrationState::kDetached) ++indexed;
    if (state == RegistrationState::kLive || state == RegistrationState::kParked) ++evictable;
  }
  return found == taken_ && indexed == overlaps_.size() && evictable == eviction_.size() &&
         bytes == statistics_.bytes;
}

}  // namespace verbena::cache
