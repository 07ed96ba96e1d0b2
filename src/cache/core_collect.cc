// Everything that ends a registration, or takes it out of sight.

#include <algorithm>

#include "cache/core.h"

namespace verbena::cache {
namespace {

// How often a thread lets others that are at an event go on, before it does without the cache.
constexpr int kYieldsMax = 100;

// How many entries a slow acquisition looks at for their age, and how often in age_max all of them
// are looked at.
constexpr uint32_t kAgedPerAcquisition = 8;
constexpr int64_t kSweepsPerAge = 8;

}  // namespace

void Core::ApplyEvents(Doomed& doomed) {
  tables_.gate.Apply([&](Interval bytes) VERBENA_UNDER_CALLERS_LOCK { Invalidate(bytes, doomed); });
}

// Reads what is pending, so that this does not take until the reader runs. Another thread that is
// at an event waits for no lock, so it is soon done. If it takes long all the same, the caller
// registers what it needs and keeps nothing of it.
void Core::WaitForReader() {
  for (int i = 0; i < kYieldsMax && !IsQuiet(); ++i) {
    if (checks_events_) source_.get()->ReadPending();
    Doomed doomed;
    {
      const MutexLock lock(mutex_);
      ApplyEvents(doomed);
    }
    Dispose(doomed);
    if (!IsQuiet()) YieldThread();
  }
}

void Core::Invalidate(Interval bytes, Doomed& doomed) {
  overlaps_.ForEach(bytes, [&](EntryNumber number, Interval) VERBENA_UNDER_CALLERS_LOCK {
    if (StateOf(number) == RegistrationState::kChanging) {
      if (!At(number).is_given_up) ++statistics_.invalidations;
      At(number).is_given_up = true;
      return;
    }
    ++statistics_.invalidations;
    Detach(number, doomed);
  });
}

// Of an entry that is not kChanging. What is in use is left to its last release.
void Core::Detach(EntryNumber number, Doomed& doomed) {
  const Entry& entry = At(number);
  const bool is_held = StateOf(number) == RegistrationState::kHeld;
  overlaps_.Erase(number, entry.bytes);
  eviction_.Remove(number);
  tables_.hints.Remove({entry.bytes, entry.access}, number);
  SetState(number, RegistrationState::kDetached);
  if (!is_held && tables_.references.IsFree(number)) {
    SetState(number, RegistrationState::kChanging);
    Doom(number, doomed);
  }
}

void Core::Doom(EntryNumber number, Doomed& doomed) {
  statistics_.bytes -= LengthOf(At(number).bytes);
  doomed.Push(At(number), number);
}

bool Core::Evict(Doomed& doomed) {
  const auto chosen = eviction_.Choose([&](EntryNumber number) {
    if (!tables_.references.IsFree(number)) return RegistrationEviction::Use::kHeld;
    const uint64_t uses = tables_.references.acquisitions(number);
    if (uses == At(number).uses_seen) return RegistrationEviction::Use::kIdle;
    At(number).uses_seen = uses;
    return RegistrationEviction::Use::kUsed;
  });
  if (!chosen) return false;
  ++statistics_.evictions;
  Detach(*chosen, doomed);
  return true;
}

// Goes on with a sweep over all entries. Between sweeps it costs a slow acquisition nothing.
void Core::ExpireSome(Doomed& doomed) {
  now_seen_ = now_();
  if (hand_ >= number_count_) {
    if (now_seen_ - sweep_began_ < Duration(options_.age_max.count() / kSweepsPerAge)) return;
    sweep_began_ = now_seen_;
    hand_ = 0;
  }
  const EntryNumber first = hand_;
  hand_ = std::min(number_count_, hand_ + kAgedPerAcquisition);
  Expire(first, hand_, doomed);
}

void Core::Expire(EntryNumber first, EntryNumber end, Doomed& doomed) {
  for (EntryNumber number = first; number < end; ++number) {
    if (!HasExpired(number, now_seen_)) continue;
    ++statistics_.expirations;
    Detach(number, doomed);
  }
}

bool Core::HasExpired(EntryNumber number, Time now) {
  const RegistrationState state = StateOf(number);
  if (state != RegistrationState::kLive && state != RegistrationState::kParked) return false;
  Entry& entry = At(number);
  const uint64_t uses = tables_.references.acquisitions(number);
  if (uses != entry.uses_aged || !tables_.references.IsFree(number)) {
    entry.uses_aged = uses;
    entry.used = now;
    return false;
  }
  return now - entry.used >= Duration(options_.age_max.count());
}

void Core::DetachAll(Doomed& doomed) {
  overlaps_.ForEach({0, ~uint64_t{0}},
                    [&](EntryNumber number, Interval) VERBENA_UNDER_CALLERS_LOCK {
                      if (StateOf(number) == RegistrationState::kChanging) {
                        At(number).is_given_up = true;
                      } else if (is_shut_ || tables_.references.IsFree(number)) {
                        Detach(number, doomed);
                      }
                    });
}

void Core::Collect(bool all) {
  if (tables_.gate.is_child()) return;
  WaitForReader();
  Doomed doomed;
  {
    const MutexLock lock(mutex_);
    ApplyEvents(doomed);
    now_seen_ = now_();
    Expire(0, number_count_, doomed);
    if (all) DetachAll(doomed);
  }
  Dispose(doomed);
}

bool Core::Shut() {
  if (tables_.gate.is_child()) return false;
  Doomed doomed;
  {
    const MutexLock lock(mutex_);
    is_shut_ = true;
    ApplyEvents(doomed);
    DetachAll(doomed);
  }
  Dispose(doomed);
  const MutexLock lock(mutex_);
  return taken_ == 0;
}

void Core::Dispose(Doomed& doomed) {
  while (!doomed.empty()) {
    const EntryNumber number = doomed.Pop(tables_.entries);
    backend_->Deregister(At(number).keys);
    const MutexLock lock(mutex_);
    GiveNumber(number);
  }
}

// When a handle with a key of its own is released, no other thread ends the entry: the key has to
// be refused from the return of the release on, and not when another thread gets to it.
void Core::ReleaseSlowly(EntryNumber number, bool is_only_handle) {
  if (tables_.gate.is_child()) return;
  Doomed doomed;
  bool is_parked = false;
  {
    const MutexLock lock(mutex_);
    // Later uses, or a reader that is about to take its reference back, come here, too.
    if (At(number).has_one_handle ? !is_only_handle : !tables_.references.IsFree(number)) return;
    if (StateOf(number) == RegistrationState::kDetached) {
      SetState(number, RegistrationState::kChanging);
      Doom(number, doomed);
    } else if (StateOf(number) == RegistrationState::kHeld) {
      SetState(number, RegistrationState::kChanging);
      is_parked = true;
    }
  }
  Dispose(doomed);
  if (is_parked) Park(number);
}

// Takes the remote rights away, and the key with them; where that is not possible, a registration
// with remote rights ends. One with local rights stays with its old key: only this program can use
// that.
void Core::Park(EntryNumber number) {
  const Access rest = At(number).access.Without(kExactRights);
  const bool is_local = rest == At(number).access;
  auto changed = CallBackend([&] { return backend_->Rekey(At(number).keys, rest); });
  const bool has_changed = changed.has_value();
  if (!has_changed && is_local) changed = At(number).keys;
  Doomed doomed;
  {
    const MutexLock lock(mutex_);
    ApplyEvents(doomed);
    Entry& entry = At(number);
    if (has_changed) {
      entry.keys = *changed;
      entry.access = rest;
      ++statistics_.changes;
    }
    if (changed && !entry.is_given_up && !is_shut_ && tables_.gate.is_open()) {
      entry.has_one_handle = false;
      SetState(number, RegistrationState::kParked);
      eviction_.Insert(number, entry.bytes);
    } else {
      overlaps_.Erase(number, entry.bytes);
      Doom(number, doomed);
    }
  }
  Dispose(doomed);
}

void Core::Discard(EntryNumber number) {
  if (tables_.gate.is_child()) return;
  Doomed doomed;
  const MutexLock lock(mutex_);
  if (StateOf(number) != RegistrationState::kDetached) Detach(number, doomed);
}

std::optional<EntryNumber> Core::TakeNumber() {
  if (first_free_ == 0 && number_count_ == options_.entries_max) return std::nullopt;
  ++taken_;
  if (first_free_ == 0) return number_count_++;
  const EntryNumber number = first_free_ - 1;
  first_free_ = At(number).next;
  return number;
}

void Core::GiveNumber(EntryNumber number) {
  acquisitions_ended_ += tables_.references.TakeAcquisitions(number);
  SetState(number, RegistrationState::kFree);
  At(number).next = first_free_;
  first_free_ = number + 1;
  --taken_;
}

}  // namespace verbena::cache
