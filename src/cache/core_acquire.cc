// The slow path of an acquisition: plan, register or change, publish.

#include <algorithm>
#include <string>
#include <utility>

#include "base/page.h"
#include "base/when_memory.h"
#include "cache/core.h"

namespace verbena::cache {
namespace {

constexpr PageShift kPage(PageShift::kMin);

Interval PagesOf(Interval bytes) {
  return {RoundDown(bytes.first, kPage), bytes.last | kPage.mask()};
}

MemoryRange RangeOf(Interval bytes) { return {bytes.first, bytes.last - bytes.first + 1}; }

Error FullError(uint32_t limit) {
  return {.code = ErrorCode::kLimit,
          .text = "all " + std::to_string(limit) +
                  " registrations of the cache are in use (CacheOptions::entries_max)"};
}

}  // namespace

ErrorOr<Hit> Core::AcquireSlowly(const RegistrationRequest& request) {
  if (tables_.gate.is_child()) {
    return tl::unexpected(Error{ErrorCode::kForked, "the cache belongs to the parent process"});
  }
  WaitForReader();
  for (Attempt attempt;;) {
    attempt.is_reported = !IsPending();
    Doomed doomed;
    const Plan plan = [&] {
      const MutexLock lock(mutex_);
      return MakePlan(request, attempt, doomed);
    }();
    Dispose(doomed);
    switch (plan.kind) {
      case Plan::Kind::kHit:
        return plan.hit;
      case Plan::Kind::kAgain:
        continue;
      case Plan::Kind::kFull:
        return tl::unexpected(FullError(options_.entries_max));
      case Plan::Kind::kTooManyHandles:
        return tl::unexpected(Error{ErrorCode::kLimit, "too many handles of one registration"});
      case Plan::Kind::kNoMemory:
        return tl::unexpected(Error{ErrorCode::kLimit, "no memory"});
      case Plan::Kind::kChange:
        if (auto changed = Change(request, plan)) return changed;
        attempt.changes = false;
        continue;
      case Plan::Kind::kRegister:
        auto made = Register(request, plan);
        if (made || !plan.is_merged) return made;
        attempt.merges = false;  // what overlaps may have other rights: it stays as it is
        continue;
    }
  }
}

// Nothing that was registered before is trusted while an event is pending, or being read.
Core::Plan Core::MakePlan(const RegistrationRequest& request, const Attempt& attempt,
                          Doomed& doomed) {
  ApplyEvents(doomed);
  ExpireSome(doomed);
  const bool is_certain = attempt.is_reported && tables_.gate.is_open();
  if (is_certain && !is_exclusive(request)) {
    if (const auto found = FindLive(request)) {
      const auto hit = Reference(*found);
      if (!hit) return {.kind = Plan::Kind::kTooManyHandles};
      tables_.hints.Put(request, *found);
      ++statistics_.hits_slow;
      return {.kind = Plan::Kind::kHit, .hit = *hit};
    }
  }
  if (is_certain && is_exclusive(request)) {
    if (const auto plan = PlanRevival(request, attempt)) return *plan;
  } else if (is_certain && attempt.changes && can_rekey_) {
    if (const auto plan = PlanChange(request)) return *plan;
  }
  return PlanRegister(request,
                      {.merges = is_certain && attempt.merges, .is_reported = attempt.is_reported},
                      doomed);
}

std::optional<EntryNumber> Core::FindLive(const RegistrationRequest& request) {
  std::optional<EntryNumber> found;
  overlaps_.ForEach(request.bytes, [&](EntryNumber number, Interval) {
    if (StateOf(number) == RegistrationState::kLive && At(number).Serves(request)) found = number;
  });
  return found;
}

std::optional<Hit> Core::Reference(EntryNumber number) {
  const Hit hit{number, References::ThisShard()};
  if (!tables_.references.Add(hit.number, hit.shard)) return std::nullopt;
  ++acquisitions_slow_;
  return hit;
}

bool Core::Close(EntryNumber number) {
  SetState(number, RegistrationState::kChanging);
  if (tables_.references.IsFree(number)) return true;
  SetState(number, RegistrationState::kLive);
  return false;
}

// A registration of these very bytes that waits for its next use. It may need other rights, or
// those back that it has lost with its last key.
std::optional<Core::Plan> Core::PlanRevival(const RegistrationRequest& request,
                                            const Attempt& attempt) {
  const bool can_change = attempt.changes && can_rekey_;
  std::optional<EntryNumber> found;
  overlaps_.ForEach(request.bytes, [&](EntryNumber number, Interval bytes) {
    if (StateOf(number) != RegistrationState::kParked || bytes != request.bytes) return;
    const bool has_rights = At(number).access == request.access;
    if (has_rights || (can_change && !found)) found = number;
  });
  if (!found) return std::nullopt;
  eviction_.Remove(*found);
  if (At(*found).access != request.access) {
    SetState(*found, RegistrationState::kChanging);
    return Plan{.kind = Plan::Kind::kChange, .number = *found, .access = request.access};
  }
  const auto hit = Reference(*found);
  At(*found).has_one_handle = true;
  SetState(*found, RegistrationState::kHeld);
  ++statistics_.hits_slow;
  return Plan{.kind = Plan::Kind::kHit, .hit = *hit};
}

// A registration that covers the bytes, lacks a right, and is not in use.
std::optional<Core::Plan> Core::PlanChange(const RegistrationRequest& request) {
  if (request.is_exact()) return std::nullopt;
  std::optional<EntryNumber> found;
  overlaps_.ForEach(request.bytes, [&](EntryNumber number, Interval bytes) {
    const bool covers = bytes.first <= request.bytes.first && request.bytes.last <= bytes.last;
    if (StateOf(number) == RegistrationState::kLive && covers &&
        !At(number).access.HasAny(kExactRights)) {
      found = number;
    }
  });
  if (!found || !Close(*found)) return std::nullopt;
  eviction_.Remove(*found);
  return Plan{
      .kind = Plan::Kind::kChange, .number = *found, .access = At(*found).access | request.access};
}

// The bytes and rights to register: exactly what was asked for, if peers can use them. Otherwise
// whole pages, together with all registrations that overlap these.
RegistrationRequest Core::ExtentOf(const RegistrationRequest& request, bool merges) {
  if (request.is_exact() || options_.exclusive) return request;
  RegistrationRequest extent{PagesOf(request.bytes), request.access};
  for (bool has_grown = merges; has_grown;) {
    has_grown = false;
    overlaps_.ForEach(extent.bytes, [&](EntryNumber number, Interval bytes) {
      if (StateOf(number) != RegistrationState::kLive || At(number).access.HasAny(kExactRights))
        return;
      const Interval hull{std::min(extent.bytes.first, bytes.first),
                          std::max(extent.bytes.last, bytes.last)};
      if (hull.last - hull.first >= options_.bytes_max) return;
      has_grown = has_grown || hull != extent.bytes;
      extent = {hull, extent.access | At(number).access};
    });
  }
  return extent;
}

Core::Plan Core::PlanRegister(const RegistrationRequest& request, const Attempt& attempt,
                              Doomed& doomed) {
  const RegistrationRequest extent = ExtentOf(request, attempt.merges);
  const uint64_t length = LengthOf(extent.bytes);
  while (statistics_.bytes + length > options_.bytes_max && Evict(doomed)) {
  }
  const auto number = TakeNumber();
  if (!number) {
    const bool has_room_soon = Evict(doomed) || !doomed.empty();
    return {.kind = has_room_soon ? Plan::Kind::kAgain : Plan::Kind::kFull};
  }
  if (!WhenMemory([&]() VERBENA_UNDER_CALLERS_LOCK { overlaps_.Insert(*number, extent.bytes); })) {
    GiveNumber(*number);
    return {.kind = Plan::Kind::kNoMemory};
  }
  Entry& entry = At(*number);
  entry.bytes = extent.bytes;
  entry.access = extent.access;
  entry.keys = {};
  entry.is_given_up = false;
  SetState(*number, RegistrationState::kChanging);
  statistics_.bytes += length;
  ++statistics_.misses;
  const bool is_merged = extent.access != request.access ||
                         (extent.bytes != request.bytes && extent.bytes != PagesOf(request.bytes));
  return {.kind = Plan::Kind::kRegister,
          .number = *number,
          .access = extent.access,
          .is_merged = is_merged,
          .is_reported = attempt.is_reported};
}

bool Core::Watch(Interval bytes) {
  MemoryEvents* const events = source_.get();
  if (!is_listening_ || events == nullptr) return false;
  return events->Watch(bytes.first, bytes.last - bytes.first + 1);
}

// The memory is watched before it is registered: no change after the registration goes unnoticed.
ErrorOr<Hit> Core::Register(const RegistrationRequest& request, const Plan& plan) {
  const Interval bytes = At(plan.number).bytes;
  const bool is_watched = !options_.release_immediately && Watch(bytes);
  const bool is_kept = !options_.release_immediately && plan.is_reported &&
                       (is_watched || follows_mappings_ || options_.announces);
  auto made = CallBackend([&] { return backend_->Register(RangeOf(bytes), plan.access); });
  if (is_kept) WaitForReader();
  Doomed doomed;
  const auto hit = [&]() -> ErrorOr<Hit> {
    const MutexLock lock(mutex_);
    if (!made) {
      overlaps_.Erase(plan.number, bytes);
      statistics_.bytes -= LengthOf(bytes);
      --statistics_.misses;
      GiveNumber(plan.number);
      return tl::unexpected(std::move(made.error()));
    }
    At(plan.number).keys = *made;
    return Publish(request, plan.number, is_kept, doomed);
  }();
  Dispose(doomed);
  return hit;
}

ErrorOr<Hit> Core::Change(const RegistrationRequest& request, const Plan& plan) {
  auto changed = CallBackend([&] { return backend_->Rekey(At(plan.number).keys, plan.access); });
  Doomed doomed;
  const auto hit = [&]() -> ErrorOr<Hit> {
    const MutexLock lock(mutex_);
    if (changed) {
      At(plan.number).keys = *changed;
      At(plan.number).access = plan.access;
      ++statistics_.changes;
      ++statistics_.hits_slow;
      return Publish(request, plan.number, true, doomed);
    }
    if (changed.error().code == ErrorCode::kNotSupported) can_rekey_ = false;
    if (At(plan.number).is_given_up) {
      overlaps_.Erase(plan.number, At(plan.number).bytes);
      Doom(plan.number, doomed);
    } else {  // as it was
      SetState(plan.number,
               is_exclusive(request) ? RegistrationState::kParked : RegistrationState::kLive);
      eviction_.Insert(plan.number, At(plan.number).bytes);
    }
    return tl::unexpected(std::move(changed.error()));
  }();
  Dispose(doomed);
  return hit;
}

// Makes an entry that was registered or changed available, and references it. If another thread was
// faster with the same, that one is used.
Hit Core::Publish(const RegistrationRequest& request, EntryNumber number, bool is_kept,
                  Doomed& doomed) {
  ApplyEvents(doomed);
  Entry& entry = At(number);
  const bool stays = is_kept && !entry.is_given_up && tables_.gate.is_open() && !is_shut_ &&
                     statistics_.bytes <= options_.bytes_max;
  if (stays && !is_exclusive(request)) {
    if (const auto faster = FindLive(request)) {
      if (const auto hit = Reference(*faster)) {
        overlaps_.Erase(number, entry.bytes);
        Doom(number, doomed);
        return *hit;
      }
    }
  }
  const Hit hit = *Reference(number);
  entry.has_one_handle = is_exclusive(request);
  entry.uses_seen = entry.uses_aged = tables_.references.acquisitions(number);
  entry.used = now_seen_;
  if (!stays) {
    overlaps_.Erase(number, entry.bytes);
    SetState(number, RegistrationState::kDetached);
  } else if (is_exclusive(request)) {
    SetState(number, RegistrationState::kHeld);
  } else {
    overlaps_.ForEach(entry.bytes,
                      [&](EntryNumber other, Interval bytes) VERBENA_UNDER_CALLERS_LOCK {
                        if (StateOf(other) != RegistrationState::kLive) return;
                        if (bytes.first < entry.bytes.first || bytes.last > entry.bytes.last)
                          return;
                        if (request.is_exact() || At(other).access.HasAny(kExactRights)) return;
                        if (!entry.access.Has(At(other).access)) return;
                        Detach(other, doomed);
                        ++statistics_.merges;
                      });
    SetState(number, RegistrationState::kLive);
    eviction_.Insert(number, entry.bytes);
    tables_.hints.Put(request, number);
  }
  return hit;
}

}  // namespace verbena::cache
