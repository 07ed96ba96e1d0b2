#include <algorithm>

#include "base/check.h"
#include "host/arbiter.h"

// The part of arbiter.h that is about regions.

namespace verbena::host {

bool Arbiter::AddRegion(GuestId guest, RegionNumber region, uint64_t bytes, uint64_t out,
                        Time now) {
  RegionStates& regions = Find(guest).regions;
  if (!regions.Add(region, bytes, out, options_.regions_max)) return false;
  Find(guest).account.SetQuiesced(regions.out_bytes());
  RebalanceSoon(now);
  return true;
}

void Arbiter::RemoveRegion(GuestId guest, RegionNumber region, Time now) {
  Guest& found = Find(guest);
  found.regions.Remove(region);
  found.account.SetQuiesced(found.regions.out_bytes());
  RebalanceSoon(now);
}

void Arbiter::SetBusy(GuestId guest, RegionNumber region, bool is_busy) {
  Find(guest).regions.SetBusy(region, is_busy);
}

void Arbiter::OnRegionQuiesced(GuestId guest, RegionNumber region, Time now) {
  Guest& found = Find(guest);
  ActOn(guest, region, found.regions.OnQuiesced(region));
  found.account.SetQuiesced(found.regions.out_bytes());
  RebalanceSoon(now);
}

void Arbiter::OnRegionResumed(GuestId guest, RegionNumber region, Time now) {
  Guest& found = Find(guest);
  found.regions.OnResumed(region);
  found.account.SetQuiesced(found.regions.out_bytes());
  RebalanceSoon(now);
}

void Arbiter::OnInterest(GuestId guest, RegionNumber region, Time now) {
  Guest& found = Find(guest);
  found.account.OnInterest(now);
  ActOn(guest, region, found.regions.OnInterest(region));
  found.account.SetQuiesced(found.regions.out_bytes());
}

void Arbiter::Quiesce(GuestId guest, RegionNumber region, RegionPart part, bool hold, Time now) {
  const Time deadline = now + options_.quiesce_time;
  ActOn(guest, region, Find(guest).regions.Quiesce(region, part, hold, deadline));
  next_time_ = std::min(next_time_, deadline);
}

void Arbiter::Resume(GuestId guest, RegionNumber region) {
  Guest& found = Find(guest);
  ActOn(guest, region, found.regions.Resume(region));
  found.account.SetQuiesced(found.regions.out_bytes());
}

void Arbiter::ActOn(GuestId guest, RegionNumber region, RegionStates::Request request) {
  if (request == RegionStates::Request::kNone) return;
  const RegionPart part = Find(guest).regions.regions().at(region).part;
  switch (request) {
    case RegionStates::Request::kNone:
      return;
    case RegionStates::Request::kQuiesce:
      return Act(ArbiterAction::Kind::kQuiesce, guest, region, 0, part);
    case RegionStates::Request::kForce:
      return Act(ArbiterAction::Kind::kForce, guest, region, 0, part);
    case RegionStates::Request::kResume:
      return Act(ArbiterAction::Kind::kResume, guest, region, 0, part);
  }
}

// A region that is out leaves more to guests that are short, and costs its guest nothing until it
// is wanted again.
void Arbiter::QuiesceIdle(const std::vector<Wish>& wishes, Time now) {
  if (std::ranges::none_of(wishes, &Wish::is_unmet)) return;
  for (const Wish& wish : wishes) {
    Guest& guest = *wish.guest;
    if (now - guest.account.last_used() < options_.idle_quiesce) continue;
    for (const auto& [region, state] : guest.regions.regions()) {
      if (state.phase != RegionPhase::kInUse || state.is_busy) continue;
      ActOn(wish.id, region, guest.regions.Quiesce(region, {}, false, now + options_.quiesce_time));
    }
  }
}

GuestStatus Arbiter::Status(GuestId guest) const {
  const auto found = guests_.find(guest);
  CHECK(found != guests_.end());
  const auto& [id, state] = *found;
  return {.registered = state.regions.bytes(),
          .resident = state.account.resident(),
          .grant = state.account.grant(),
          .committed = state.account.committed(),
          .quiesced = state.regions.quiesced_count(),
          .waiting = state.regions.waiting_count(),
          .is_rogue = state.account.is_rogue(),
          .is_absent = state.absent_until != Time::Never()};
}

const RegionStates& Arbiter::Regions(GuestId guest) const {
  const auto found = guests_.find(guest);
  CHECK(found != guests_.end());
  return found->second.regions;
}

}  // namespace verbena::host
