#include "host/region_states.h"

#include <algorithm>

namespace verbena::host {

const char* NameOf(RegionPhase phase) {
  switch (phase) {
    case RegionPhase::kInUse:
      return "in use";
    case RegionPhase::kQuiescing:
      return "quiescing";
    case RegionPhase::kOut:
      return "out";
    case RegionPhase::kResuming:
      return "resuming";
  }
  return "";
}

bool RegionStates::Add(RegionNumber region, uint64_t bytes, uint64_t out, size_t max) {
  if (regions_.size() >= max || bytes > UINT64_MAX - bytes_) return false;
  const auto [place, is_new] = regions_.try_emplace(region, Region{.bytes = bytes});
  if (!is_new) return false;
  bytes_ += bytes;
  if (out == 0) return true;
  // How much of it, and not where, is what is accounted.
  if (out < bytes) place->second.part = {.offset = 0, .length = out};
  SetPhase(place->second, RegionPhase::kOut);
  return true;
}

void RegionStates::Remove(RegionNumber region) {
  const auto found = regions_.find(region);
  if (found == regions_.end()) return;
  SetPhase(found->second, RegionPhase::kInUse);
  bytes_ -= found->second.bytes;
  regions_.erase(found);
}

RegionStates::Request RegionStates::Quiesce(RegionNumber region, RegionPart part, bool hold,
                                            Time deadline) {
  Region* const found = Find(region);
  if (found == nullptr) return Request::kNone;
  found->is_held |= hold;
  if (found->phase != RegionPhase::kInUse) return Request::kNone;
  found->part = part;
  SetPhase(*found, RegionPhase::kQuiescing);
  found->deadline = deadline;
  found->is_forced = false;
  return Request::kQuiesce;
}

RegionStates::Request RegionStates::Resume(RegionNumber region) {
  Region* const found = Find(region);
  if (found == nullptr) return Request::kNone;
  found->is_held = false;
  const bool is_in = found->phase == RegionPhase::kInUse || found->phase == RegionPhase::kResuming;
  if (is_in) return Request::kNone;
  SetPhase(*found, RegionPhase::kResuming);
  found->deadline = Time::Never();
  return Request::kResume;
}

RegionStates::Request RegionStates::OnQuiesced(RegionNumber region) {
  Region* const found = Find(region);
  // The answer to a request that was withdrawn since means nothing.
  if (found == nullptr || found->phase != RegionPhase::kQuiescing) return Request::kNone;
  SetPhase(*found, RegionPhase::kOut);
  found->deadline = Time::Never();
  return found->has_interest && !found->is_held ? Resume(region) : Request::kNone;
}

RegionStates::Request RegionStates::OnInterest(RegionNumber region) {
  Region* const found = Find(region);
  if (found == nullptr || found->phase == RegionPhase::kInUse) return Request::kNone;
  found->has_interest = true;
  const bool is_due = found->phase == RegionPhase::kOut && !found->is_held;
  return is_due ? Resume(region) : Request::kNone;
}

void RegionStates::OnResumed(RegionNumber region) {
  Region* const found = Find(region);
  if (found == nullptr || found->phase != RegionPhase::kResuming) return;
  SetPhase(*found, RegionPhase::kInUse);
  found->has_interest = false;
}

void RegionStates::SetBusy(RegionNumber region, bool is_busy) {
  if (Region* const found = Find(region)) found->is_busy = is_busy;
}

RegionStates::Request RegionStates::OnTime(RegionNumber region, Time now) {
  Region* const found = Find(region);
  if (found == nullptr || found->deadline > now) return Request::kNone;
  found->deadline = Time::Never();
  found->is_forced = true;
  return Request::kForce;
}

size_t RegionStates::waiting_count() const {
  return static_cast<size_t>(std::ranges::count_if(
      regions_, [](const auto& region) { return region.second.has_interest; }));
}

size_t RegionStates::quiesced_count() const {
  return static_cast<size_t>(std::ranges::count_if(
      regions_, [](const auto& region) { return region.second.phase != RegionPhase::kInUse; }));
}

Time RegionStates::next_deadline() const {
  Time next = Time::Never();
  for (const auto& [region, state] : regions_) next = std::min(next, state.deadline);
  return next;
}

RegionStates::Region* RegionStates::Find(RegionNumber region) {
  const auto found = regions_.find(region);
  return found == regions_.end() ? nullptr : &found->second;
}

void RegionStates::SetPhase(Region& region, RegionPhase phase) {
  if (region.phase == RegionPhase::kOut) out_bytes_ -= OutBytes(region);
  if (phase == RegionPhase::kOut) out_bytes_ += OutBytes(region);
  region.phase = phase;
}

// A guest may say that more of a region is out than there is of it.
uint64_t RegionStates::OutBytes(const Region& region) {
  return region.part.is_whole() ? region.bytes : std::min(region.part.length, region.bytes);
}

}  // namespace verbena::host
