#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "host/arbiter_options.h"
#include "host/guest_account.h"
#include "host/ids.h"
#include "host/region_states.h"

namespace verbena::host {

// What the arbiter wants to be done.
struct ArbiterAction {
  enum class Kind : uint8_t {
    kGrant,    // tell the guest how many bytes it may have in memory, and the sequence
    kQuiesce,  // ask it to quiesce the region
    kForce,    // the same, without waiting for operations under way
    kResume,   // ask it to put the region back
    kPunch,    // take so many bytes of its memory; then call OnResident
    kForget,   // it stays away, or takes more than its grant again and again: take all its memory
               // for good, and call OnGone
  };
  Kind kind = Kind::kGrant;
  GuestId guest;
  RegionNumber region;
  uint64_t bytes = 0;
  uint64_t sequence = 0;
  RegionPart part = {};  // of the region

  friend bool operator==(const ArbiterAction&, const ArbiterAction&) = default;
};

// What an operator sees of a guest.
struct GuestStatus {
  uint64_t registered = 0;
  uint64_t resident = 0;
  uint64_t grant = 0;
  uint64_t committed = 0;
  uint64_t quiesced = 0;  // regions
  uint64_t waiting = 0;   // regions that work waits for
  bool is_rogue = false;
  bool is_absent = false;
};

// The policy of the hypervisor: how much memory each guest has, and which regions are quiesced.
// Inputs are calls with the time, outputs are actions; it has no clock, no thread and no I/O.
//
// Memory is divided by weighted max-min fairness over what the guests demand (fair_share.h). A
// guest demands all that it has registered while it faults, and otherwise what it has and a little
// more; the weight of an idle guest is taxed. Max-min fairness, because a guest can gain nothing by
// demanding more than it uses, and takes nothing from a guest that is below its share; the tax,
// because weights alone let idle guests sit on their share for ever.
//
// Against ping-pong: a grant changes only by a step or more (step()), a guest that faulted is short
// for a while after, and memory is taken only while another guest lacks it.
//
// Invariant: as long as guests keep their grants, the sum of what they hold is within the budget,
// at every moment: a grant is raised only out of memory that is committed to no other guest
// (guest_account.h).
//
// One thread.
class Arbiter {
 public:
  explicit Arbiter(const ArbiterOptions& options);

  // `recorded`: what an earlier broker had granted to it, as that broker recorded. Refused if the
  // minimums of all guests would not fit the budget.
  [[nodiscard]] ErrorOr<GuestId> Attach(const GuestLimits& limits, uint64_t recorded, Time now);
  // Its connection has ended, but not its process: what it has is kept for it, for a while.
  void OnAbsent(GuestId guest, Time now);
  // It has ended, and all its memory with it.
  void OnGone(GuestId guest, Time now);

  void SetRegistered(GuestId guest, uint64_t bytes, Time now);
  void OnUse(GuestId guest, const GuestUse& use, Time now);
  void OnAcknowledged(GuestId guest, uint64_t sequence, Time now);
  // What the kernel says that it holds.
  void OnResident(GuestId guest, uint64_t bytes, Time now);

  // False if the guest has too many regions, or has this one.
  // `out`: bytes of it that are out.
  [[nodiscard]] bool AddRegion(GuestId guest, RegionNumber region, uint64_t bytes, uint64_t out,
                               Time now);
  void RemoveRegion(GuestId guest, RegionNumber region, Time now);
  // Whether operations on it are outstanding, as far as its word says so: then it is not idle,
  // whatever its guest does.
  void SetBusy(GuestId guest, RegionNumber region, bool is_busy);
  void OnRegionQuiesced(GuestId guest, RegionNumber region, Time now);
  void OnRegionResumed(GuestId guest, RegionNumber region, Time now);
  void OnInterest(GuestId guest, RegionNumber region, Time now);
  // By the operator: the region, or a part of it. `hold`: interest does not bring it back.
  void Quiesce(GuestId guest, RegionNumber region, RegionPart part, bool hold, Time now);
  void Resume(GuestId guest, RegionNumber region);

  // Does what is due.
  void OnTime(Time now);
  // When OnTime is to be called next.
  [[nodiscard]] Time next_time() const { return next_time_; }

  [[nodiscard]] std::vector<ArbiterAction> TakeActions();

  [[nodiscard]] uint64_t budget() const { return options_.budget; }
  [[nodiscard]] uint64_t committed() const { return committed_; }
  [[nodiscard]] size_t guest_count() const { return guests_.size(); }
  [[nodiscard]] bool Has(GuestId guest) const { return guests_.contains(guest); }
  [[nodiscard]] GuestStatus Status(GuestId guest) const;
  [[nodiscard]] const RegionStates& Regions(GuestId guest) const;
  // The least by which a grant of this size changes.
  [[nodiscard]] uint64_t step(uint64_t grant) const;
  [[nodiscard]] bool IsConsistent() const;

 private:
  struct Guest {
    GuestAccount account;
    RegionStates regions;
    Time absent_until = Time::Never();  // Never: it is here
  };
  struct Wish {
    GuestId id;
    Guest* guest = nullptr;
    uint64_t share = 0;
    bool is_unmet = false;
  };

  [[nodiscard]] Guest& Find(GuestId guest);
  // Runs `change` on the account, and keeps the sum of what is committed.
  template <class Change>
  void Update(Guest& guest, Change change);
  void Act(ArbiterAction::Kind kind, GuestId guest, RegionNumber region = {}, uint64_t bytes = 0,
           RegionPart part = {});
  void ActOn(GuestId guest, RegionNumber region, RegionStates::Request request);
  void ServeDeadlines(Time now);
  void Rebalance(Time now);
  [[nodiscard]] std::vector<Wish> Shares(Time now);
  void LowerForOthers(std::vector<Wish>& wishes, Time now);
  void RaiseFromFree(std::vector<Wish>& wishes);
  void QuiesceIdle(const std::vector<Wish>& wishes, Time now);
  void SetGrant(const Wish& wish, uint64_t bytes, Time now);
  void RebalanceSoon(Time now);
  [[nodiscard]] uint64_t free_bytes() const;

  const ArbiterOptions options_;
  std::map<GuestId, Guest> guests_;
  uint64_t last_id_ = 0;
  uint64_t committed_ = 0;
  uint64_t reserved_ = 0;  // the sum of the minimums
  Time rebalance_at_ = Time::Never();
  Time age_at_;
  Time next_time_ = Time::Never();
  std::vector<ArbiterAction> actions_;
};

}  // namespace verbena::host
