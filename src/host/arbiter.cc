#include "host/arbiter.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "host/fair_share.h"

namespace verbena::host {
namespace {

constexpr uint64_t kPage = 4096;
// A guest that had to be punched so often, and takes the memory again, does so on purpose.
constexpr uint32_t kPunchesMax = 3;

}  // namespace

Arbiter::Arbiter(const ArbiterOptions& options) : options_(options) {
  CHECK(options.idle_tax >= 0 && options.idle_tax < 1);
}

Arbiter::Guest& Arbiter::Find(GuestId guest) {
  const auto found = guests_.find(guest);
  CHECK(found != guests_.end());
  return found->second;
}

template <class Change>
void Arbiter::Update(Guest& guest, Change change) {
  committed_ -= guest.account.committed();
  change(guest.account);
  committed_ += guest.account.committed();
}

ErrorOr<GuestId> Arbiter::Attach(const GuestLimits& limits, uint64_t recorded, Time now) {
  const auto refuse = [](ErrorCode code, std::string text) {
    return Fail(Error{code, std::move(text)});
  };
  if (limits.min < kGuestMinimum || limits.min > limits.max || limits.weight == 0 ||
      limits.weight > kWeightMax) {
    return refuse(ErrorCode::kInvalid,
                  "the limits of a guest are a minimum of 64 KiB or more, a "
                  "maximum that is no less, and a weight of 1 to 1,000,000");
  }
  if (guests_.size() >= options_.guests_max) {
    return refuse(ErrorCode::kLimit,
                  "the limit of " + std::to_string(options_.guests_max) + " guests is reached");
  }
  if (limits.min > options_.budget - reserved_) {
    return refuse(ErrorCode::kLimit,
                  "its minimum of " + std::to_string(limits.min) +
                      " bytes does not fit: " + std::to_string(options_.budget - reserved_) +
                      " of " + std::to_string(options_.budget) + " are not promised to others");
  }
  const GuestId id(++last_id_);
  guests_.emplace(id, Guest{.account = GuestAccount(limits, recorded, now), .regions = {}});
  reserved_ += limits.min;
  committed_ += recorded;
  // It may believe in another one, if a change of it was under way.
  if (recorded > 0) Act(ArbiterAction::Kind::kGrant, id, {}, recorded);
  RebalanceSoon(now);
  return id;
}

void Arbiter::OnAbsent(GuestId guest, Time now) {
  Find(guest).absent_until = now + options_.absence_time;
  RebalanceSoon(now);
}

void Arbiter::OnGone(GuestId guest, Time now) {
  Guest& gone = Find(guest);
  reserved_ -= gone.account.limits().min;
  committed_ -= gone.account.committed();
  guests_.erase(guest);
  std::erase_if(actions_, [&](const ArbiterAction& action) { return action.guest == guest; });
  RebalanceSoon(now);
}

void Arbiter::SetRegistered(GuestId guest, uint64_t bytes, Time now) {
  Find(guest).account.SetRegistered(bytes);
  RebalanceSoon(now);
}

void Arbiter::OnUse(GuestId guest, const GuestUse& use, Time now) {
  Find(guest).account.OnUse(use, now);
}

void Arbiter::OnAcknowledged(GuestId guest, uint64_t sequence, Time now) {
  Guest& found = Find(guest);
  Update(found, [&](GuestAccount& account) { account.OnAcknowledged(sequence); });
  RebalanceSoon(now);
}

void Arbiter::OnResident(GuestId guest, uint64_t bytes, Time now) {
  Guest& found = Find(guest);
  const bool owed = found.account.owes();
  Update(found,
         [&](GuestAccount& account) { account.OnResident(bytes, now + options_.release_time); });
  if (owed && !found.account.owes()) RebalanceSoon(now);
}

void Arbiter::OnTime(Time now) {
  ServeDeadlines(now);
  if (now >= age_at_) {
    for (auto& [id, guest] : guests_) guest.account.Age(now);
    age_at_ = now + options_.period;
    rebalance_at_ = now;
  }
  if (now >= rebalance_at_) Rebalance(now);
  next_time_ = age_at_;
  for (const auto& [id, guest] : guests_) {
    next_time_ = std::min(
        {next_time_, guest.account.deadline(), guest.absent_until, guest.regions.next_deadline()});
  }
}

void Arbiter::ServeDeadlines(Time now) {
  for (auto& [id, guest] : guests_) {
    if (now >= guest.absent_until) {
      guest.absent_until = now + options_.period;
      Act(ArbiterAction::Kind::kForget, id);
    }
    if (now >= guest.account.deadline()) {
      uint64_t punched = 0;
      Update(guest,
             [&](GuestAccount& account) { punched = account.OnLate(now + options_.period); });
      const bool is_hopeless = guest.account.punches() > kPunchesMax;
      if (is_hopeless) {
        Act(ArbiterAction::Kind::kForget, id);
      } else if (punched > 0) {
        Act(ArbiterAction::Kind::kPunch, id, {}, punched);
      }
      RebalanceSoon(now);
    }
    if (now < guest.regions.next_deadline()) continue;
    for (const auto& [region, state] : guest.regions.regions()) {
      ActOn(id, region, guest.regions.OnTime(region, now));
    }
  }
}

void Arbiter::RebalanceSoon(Time now) {
  rebalance_at_ = std::min(rebalance_at_, now);
  next_time_ = std::min(next_time_, now);
}

void Arbiter::Rebalance(Time now) {
  rebalance_at_ = Time::Never();
  std::vector<Wish> wishes = Shares(now);
  LowerForOthers(wishes, now);
  RaiseFromFree(wishes);
  QuiesceIdle(wishes, now);
  DCHECK(IsConsistent());
}

std::vector<Arbiter::Wish> Arbiter::Shares(Time now) {
  std::vector<Wish> wishes;
  std::vector<Claim> claims;
  wishes.reserve(guests_.size());
  claims.reserve(guests_.size());
  // Guests that are away, or do not give up what they should, keep what they have meanwhile.
  uint64_t kept = 0, promised = 0;
  for (auto& [id, guest] : guests_) {
    const GuestAccount& account = guest.account;
    if (guest.absent_until != Time::Never()) {
      kept += account.committed();
      continue;
    }
    if (account.is_rogue()) kept += account.committed() - account.grant();
    promised += account.limits().min;
    wishes.push_back({id, &guest});
    claims.push_back({.min = account.limits().min,
                      .demand = account.Demand(now, options_.fault_memory, step(0)),
                      .weight = account.EffectiveWeight(options_.idle_tax)});
  }
  const uint64_t left = options_.budget - std::min(kept, options_.budget);
  DivideFairly(std::max(left, promised), claims);
  for (size_t i = 0; i < wishes.size(); ++i) {
    wishes[i].share = std::max(claims[i].share / kPage * kPage, claims[i].min);
    wishes[i].is_unmet = claims[i].share < claims[i].demand;
  }
  return wishes;
}

void Arbiter::LowerForOthers(std::vector<Wish>& wishes, Time now) {
  uint64_t lacking = 0, coming = 0;
  bool is_urgent = committed_ > options_.budget;
  for (const Wish& wish : wishes) {
    const GuestAccount& account = wish.guest->account;
    coming += account.committed() - account.grant();
    const bool is_below_min = account.grant() < account.limits().min;
    const bool is_raised = wish.share >= account.grant() + step(account.grant()) || is_below_min;
    is_urgent |= is_below_min;
    if (is_raised && wish.share > account.grant()) lacking += wish.share - account.grant();
  }
  if (committed_ > options_.budget) lacking += committed_ - options_.budget;
  if (lacking <= free_bytes() + coming) return;
  for (const Wish& wish : wishes) {
    const GuestAccount& account = wish.guest->account;
    const uint64_t least = is_urgent ? 1 : step(account.grant());
    if (account.is_lowering() || account.grant() < wish.share + least) continue;
    SetGrant(wish, wish.share, now);
  }
}

void Arbiter::RaiseFromFree(std::vector<Wish>& wishes) {
  const auto poverty = [](const Wish& wish) {
    const GuestAccount& account = wish.guest->account;
    return std::pair(account.grant() >= account.limits().min,
                     static_cast<double>(account.grant()) / account.limits().weight);
  };
  std::ranges::sort(wishes, {}, poverty);
  for (const Wish& wish : wishes) {
    const GuestAccount& account = wish.guest->account;
    if (account.is_lowering() || wish.share <= account.grant()) continue;
    // What it holds already is committed, whatever it was granted.
    const uint64_t above = account.committed() - account.grant();
    const uint64_t to =
        std::min(wish.share, account.grant() + above + free_bytes()) / kPage * kPage;
    const bool is_enough = to >= account.grant() + step(account.grant()) || to == wish.share;
    if (is_enough && to > account.grant()) SetGrant(wish, to, Time());
  }
}

void Arbiter::SetGrant(const Wish& wish, uint64_t bytes, Time now) {
  Update(*wish.guest, [&](GuestAccount& account) {
    if (bytes > account.grant()) {
      account.Raise(bytes);
    } else {
      account.Lower(bytes, now + options_.release_time);
    }
  });
  std::erase_if(actions_, [&](const ArbiterAction& action) {
    return action.guest == wish.id && action.kind == ArbiterAction::Kind::kGrant;
  });
  Act(ArbiterAction::Kind::kGrant, wish.id, {}, bytes);
}

uint64_t Arbiter::free_bytes() const {
  return options_.budget - std::min(committed_, options_.budget);
}

uint64_t Arbiter::step(uint64_t grant) const {
  constexpr uint64_t kLeast = uint64_t{64} << 10, kMost = uint64_t{1} << 20;
  const uint64_t step = std::clamp(options_.budget / 256, kLeast, kMost);
  return std::max(step, grant / 16);
}

void Arbiter::Act(ArbiterAction::Kind kind, GuestId guest, RegionNumber region, uint64_t bytes,
                  RegionPart part) {
  const uint64_t sequence =
      kind == ArbiterAction::Kind::kGrant ? Find(guest).account.sequence() : 0;
  actions_.push_back({kind, guest, region, bytes, sequence, part});
}

std::vector<ArbiterAction> Arbiter::TakeActions() { return std::exchange(actions_, {}); }

bool Arbiter::IsConsistent() const {
  uint64_t committed = 0, reserved = 0;
  for (const auto& [id, guest] : guests_) {
    committed += guest.account.committed();
    reserved += guest.account.limits().min;
  }
  return committed == committed_ && reserved == reserved_ && reserved_ <= options_.budget;
}

}  // namespace verbena::host
