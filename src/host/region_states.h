#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/time.h"
#include "host/ids.h"

namespace verbena::host {

// Where a region is between in use and swapped out.
enum class RegionPhase : uint8_t {
  kInUse,
  kQuiescing,  // the guest was asked to start nothing more on it
  kOut,        // nothing is under way on it, and its pages may be gone
  kResuming,   // the guest was asked to put it back
};

[[nodiscard]] const char* NameOf(RegionPhase phase);  // "in use"

// The regions of one guest and their phases. Every function that can cause a request to the guest
// returns which.
//
//   in use --Quiesce--> quiescing --OnQuiesced--> out --Resume, interest--> resuming --OnResumed-->
//
// Interest is a guest's word that work waits for the region: the region comes back as soon as it
// is out, unless the operator holds it.
//
// A value. The arbiter owns it.
class RegionStates {
 public:
  enum class Request : uint8_t { kNone, kQuiesce, kForce, kResume };

  struct Region {
    uint64_t bytes = 0;
    RegionPhase phase = RegionPhase::kInUse;
    RegionPart part = {};  // that is out, or on its way
    bool is_held = false;  // by the operator: interest does not bring it back
    bool has_interest = false;
    bool is_forced = false;
    bool is_busy = false;  // operations are outstanding, as its word says
    Time deadline = Time::Never();
  };

  // False if there are `max` regions already, or it is there.
  [[nodiscard]] bool Add(RegionNumber region, uint64_t bytes, uint64_t out, size_t max);
  void Remove(RegionNumber region);

  // One part of a region at a time.
  [[nodiscard]] Request Quiesce(RegionNumber region, RegionPart part, bool hold, Time deadline);
  [[nodiscard]] Request Resume(RegionNumber region);
  [[nodiscard]] Request OnQuiesced(RegionNumber region);
  [[nodiscard]] Request OnInterest(RegionNumber region);
  void OnResumed(RegionNumber region);
  void SetBusy(RegionNumber region, bool is_busy);
  // Operations on it took too long to end: from now on the adapter refuses them.
  [[nodiscard]] Request OnTime(RegionNumber region, Time now);

  [[nodiscard]] const std::map<RegionNumber, Region>& regions() const { return regions_; }
  [[nodiscard]] uint64_t out_bytes() const { return out_bytes_; }
  [[nodiscard]] uint64_t bytes() const { return bytes_; }
  [[nodiscard]] size_t waiting_count() const;
  [[nodiscard]] size_t quiesced_count() const;
  [[nodiscard]] Time next_deadline() const;

 private:
  [[nodiscard]] Region* Find(RegionNumber region);
  void SetPhase(Region& region, RegionPhase phase);
  [[nodiscard]] static uint64_t OutBytes(const Region& region);

  std::map<RegionNumber, Region> regions_;
  uint64_t bytes_ = 0;
  uint64_t out_bytes_ = 0;
};

}  // namespace verbena::host
