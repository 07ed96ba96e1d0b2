// The arbiter with random guests in virtual time: honest ones that take their time, liars, crashes,
// and a broker that is started again. What is checked at every step: the memory that honest guests
// really hold is within the budget, together with what the liars are known to hold.

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "host/arbiter.h"

namespace verbena::host {
namespace {

using Kind = ArbiterAction::Kind;

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kBudget = 64 * kMiB;
constexpr Duration kStep = Milliseconds(10);

// A guest as it is, whatever it tells.
struct ModelGuest {
  GuestLimits limits;
  uint64_t registered = 0;
  uint64_t wanted = 0;  // its working set
  uint64_t held = 0;    // really in memory
  uint64_t grant = 0;   // that it knows of
  uint64_t faults = 0;
  bool is_liar = false;  // acknowledges everything and gives up nothing
  bool is_deaf = false;  // does not even acknowledge
  bool is_out = false;
  bool has_interest = false;
  Time interest_since;
  Time below_min_since;
  std::deque<ArbiterAction> unread;
};

class World {
 public:
  explicit World(uint64_t seed) : random_(seed) {}

  void Run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) {
      now_ += kStep;
      if (random_.Chance(1, 20)) Attach();
      if (random_.Chance(1, 200)) Crash();
      if (random_.Chance(1, 500)) RestartBroker();
      for (auto& [id, guest] : guests_) Step(id, guest);
      Carry();
      Check();
    }
  }

 private:
  void Attach() {
    ModelGuest guest;
    guest.limits = {.min = random_.Between(1, 64) * kGuestMinimum,
                    .weight = static_cast<uint32_t>(random_.Between(1, 400))};
    guest.limits.max = guest.limits.min + random_.Below(kBudget);
    guest.registered = random_.Below(kBudget);
    // While many at a time take what they were not granted, there is nothing left to grant.
    const auto liars = std::ranges::count_if(
        guests_, [](const auto& other) { return other.second.is_liar || other.second.is_deaf; });
    guest.is_liar = liars < 2 && random_.Chance(1, 10);
    guest.is_deaf = liars < 2 && random_.Chance(1, 10);
    guest.below_min_since = now_;
    const auto id = arbiter_->Attach(guest.limits, 0, now_);
    if (!id) return;
    arbiter_->SetRegistered(*id, guest.registered, now_);
    ASSERT_TRUE(arbiter_->AddRegion(*id, RegionNumber(1), guest.registered, 0, now_));
    guests_.emplace(*id, std::move(guest));
  }

  void Crash() {
    if (guests_.empty()) return;
    const auto victim =
        std::next(guests_.begin(), static_cast<int64_t>(random_.Below(guests_.size())));
    arbiter_->OnGone(victim->first, now_);
    guests_.erase(victim);
  }

  // The new broker knows what the old one recorded, and what the guests tell about themselves.
  void RestartBroker() {
    auto restarted = std::make_unique<Arbiter>(ArbiterOptions{.budget = kBudget});
    std::map<GuestId, ModelGuest> guests;
    for (auto& [old_id, guest] : guests_) {
      const uint64_t recorded = arbiter_->Status(old_id).committed;
      const auto id = restarted->Attach(guest.limits, recorded, now_);
      ASSERT_TRUE(id);
      restarted->SetRegistered(*id, guest.registered, now_);
      const uint64_t out = guest.is_out ? guest.registered : 0;
      ASSERT_TRUE(restarted->AddRegion(*id, RegionNumber(1), guest.registered, out, now_));
      restarted->OnResident(*id, guest.held, now_);
      guest.unread.clear();
      if (guest.is_out && guest.has_interest) restarted->OnInterest(*id, RegionNumber(1), now_);
      guest.below_min_since = now_;
      guests.emplace(*id, std::move(guest));
    }
    guests_ = std::move(guests);
    arbiter_ = std::move(restarted);
  }

  void Step(GuestId id, ModelGuest& guest) {
    if (random_.Chance(1, 50)) guest.wanted = random_.Below(guest.registered + 1);
    if (random_.Chance(1, 4)) Read(id, guest);
    const uint64_t room = guest.is_liar || guest.is_deaf ? guest.registered : guest.grant;
    if (!guest.is_out) {
      if (guest.wanted > room) ++guest.faults;
      guest.held = std::min(guest.wanted, room);
    } else if (random_.Chance(1, 100) && !guest.has_interest) {
      guest.has_interest = true;
      guest.interest_since = now_;
      arbiter_->OnInterest(id, RegionNumber(1), now_);
    }
    if (random_.Chance(1, 10)) {
      arbiter_->OnUse(id, {.faults = guest.faults}, now_);
      arbiter_->OnResident(id, guest.held, now_);
    }
  }

  // Guests read one message at a time, when they get to it.
  void Read(GuestId id, ModelGuest& guest) {
    if (guest.unread.empty()) return;
    const ArbiterAction action = guest.unread.front();
    guest.unread.pop_front();
    if (guest.is_deaf) return;
    switch (action.kind) {
      case Kind::kGrant:
        guest.grant = action.bytes;
        if (!guest.is_liar) guest.held = std::min(guest.held, guest.grant);
        arbiter_->OnResident(id, guest.held, now_);
        return arbiter_->OnAcknowledged(id, action.sequence, now_);
      case Kind::kQuiesce:
      case Kind::kForce:
        guest.is_out = true;
        guest.held = 0;
        return arbiter_->OnRegionQuiesced(id, RegionNumber(1), now_);
      case Kind::kResume:
        guest.is_out = guest.has_interest = false;
        return arbiter_->OnRegionResumed(id, RegionNumber(1), now_);
      case Kind::kPunch:
      case Kind::kForget:
        return;
    }
  }

  void Carry() {
    if (arbiter_->next_time() > now_) return;
    arbiter_->OnTime(now_);
    for (const ArbiterAction& action : arbiter_->TakeActions()) {
      ModelGuest& guest = guests_.at(action.guest);
      if (action.kind == Kind::kPunch) {
        ASSERT_TRUE(guest.is_liar || guest.is_deaf) << "an honest guest loses bytes";
        guest.held -= std::min(guest.held, action.bytes);
        arbiter_->OnResident(action.guest, guest.held, now_);
      } else if (action.kind == Kind::kForget) {
        ASSERT_TRUE(guest.is_liar || guest.is_deaf) << "an honest guest loses everything";
        arbiter_->OnGone(action.guest, now_);
        guests_.erase(action.guest);
      } else {
        guest.unread.push_back(action);
      }
    }
    ASSERT_TRUE(arbiter_->IsConsistent());
  }

  void Check() {
    uint64_t held = 0;
    bool is_anyone_lying = false;
    for (auto& [id, guest] : guests_) {
      const GuestStatus status = arbiter_->Status(id);
      const bool is_honest = !guest.is_liar && !guest.is_deaf;
      is_anyone_lying |= !is_honest;
      // What an honest guest holds, or may come to hold, is accounted.
      if (is_honest) {
        ASSERT_LE(std::max(guest.held, guest.grant), status.committed);
      }
      held += is_honest ? std::max(guest.held, guest.grant) : 0;
      ASSERT_LE(status.grant, std::max(guest.limits.max, guest.limits.min));
      if (is_honest) CheckProgress(status, guest);
    }
    ASSERT_LE(held, kBudget) << "honest guests hold more than there is";
    if (!is_anyone_lying) {
      ASSERT_LE(arbiter_->committed(), kBudget);
    }
  }

  // Within the time that a liar can delay it: a release time for each guest that is asked.
  void CheckProgress(const GuestStatus& status, ModelGuest& guest) {
    const Duration patience = Seconds(30);
    if (guest.has_interest) {
      ASSERT_LT(now_ - guest.interest_since, patience) << "a guest waits for ever";
    }
    if (status.grant >= guest.limits.min) {
      guest.below_min_since = now_;
    } else {
      ASSERT_LT(now_ - guest.below_min_since, patience) << "a guest never gets its minimum";
    }
  }

  Random random_;
  Time now_{Seconds(1'000)};
  std::unique_ptr<Arbiter> arbiter_ =
      std::make_unique<Arbiter>(ArbiterOptions{.budget = kBudget, .idle_quiesce = Seconds(2)});
  std::map<GuestId, ModelGuest> guests_;
};

TEST(ArbiterModel, TheBudgetHoldsWhateverGuestsDo) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World(seed).Run(4'000);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace verbena::host
