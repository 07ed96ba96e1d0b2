#include "host/guest_account.h"

#include <algorithm>

#include "base/check.h"

namespace verbena::host {
namespace {

constexpr double kActivityDecay = 0.875;  // of a period: half of it is forgotten after five

}  // namespace

GuestAccount::GuestAccount(const GuestLimits& limits, uint64_t held, Time now)
    : limits_(limits), grant_(held), bound_(held), last_used_(now) {}

uint64_t GuestAccount::committed() const { return std::max({bound_, grant_, resident_}); }

bool GuestAccount::owes() const {
  // What it holds before it has got its minimum is no fault of its own: it had another broker.
  return is_lowering() || resident_ > std::max(grant_, limits_.min);
}

void GuestAccount::Raise(uint64_t to) {
  CHECK(!is_lowering() && to > grant_);
  grant_ = bound_ = to;
  ++sequence_;
}

void GuestAccount::Lower(uint64_t to, Time deadline) {
  CHECK(to < grant_);
  grant_ = to;
  lowered_ = ++sequence_;
  Settle(deadline);
}

void GuestAccount::OnAcknowledged(uint64_t sequence) {
  // Not more than was sent: an acknowledgement in advance would count for the next lowering.
  acknowledged_ = std::max(acknowledged_, std::min(sequence, sequence_));
  Pardon();
  Settle(deadline_);
}

void GuestAccount::OnResident(uint64_t resident, Time deadline) {
  resident_ = resident;
  Pardon();
  Settle(deadline);
}

// A guest that was punched and takes the memory again has not complied: it must acknowledge first.
void GuestAccount::Pardon() {
  if (acknowledged_ < lowered_ || resident_ > grant_) return;
  is_rogue_ = false;
}

void GuestAccount::Settle(Time deadline) {
  if (!is_lowering()) bound_ = grant_;
  if (!owes()) {
    deadline_ = Time::Never();
  } else if (deadline_ == Time::Never()) {
    deadline_ = deadline;
  }
}

uint64_t GuestAccount::OnLate(Time again) {
  is_rogue_ = true;
  deadline_ = Time::Never();
  Settle(again);
  const uint64_t allowed = std::max(grant_, limits_.min);
  if (resident_ <= allowed) return 0;
  ++punches_;
  return resident_ - allowed;
}

void GuestAccount::OnInterest(Time now) {
  was_used_ = true;
  last_used_ = last_fault_ = now;
}

void GuestAccount::OnUse(const GuestUse& use, Time now) {
  if (use.faults != use_.faults || use.is_waiting) last_fault_ = now;
  if (use.faults != use_.faults || use.activity != use_.activity || use.is_waiting) {
    was_used_ = true;
    last_used_ = now;
  }
  use_ = use;
}

void GuestAccount::Age(Time now) {
  activity_ = activity_ * kActivityDecay + (was_used_ ? 1 - kActivityDecay : 0);
  if (was_used_) last_used_ = now;
  was_used_ = false;
}

uint64_t GuestAccount::Demand(Time now, Duration fault_memory, uint64_t slack) const {
  const uint64_t usable = registered_ - std::min(quiesced_, registered_);
  const uint64_t most = std::max(limits_.min, std::min(limits_.max, usable));
  if (now - last_fault_ < fault_memory) return most;
  // It has what it needs. The slack is what it grows into before it is seen to fault.
  const uint64_t enough = resident_ + std::max(slack, resident_ / 8);
  return std::clamp(enough, limits_.min, most);
}

// As ESX taxes idle memory (Waldspurger, OSDI 2002): a guest pays 1 / (1 - tax) for an idle page.
double GuestAccount::EffectiveWeight(double idle_tax) const {
  const double idle_price = 1 / (1 - idle_tax);
  return limits_.weight / (activity_ + idle_price * (1 - activity_));
}

}  // namespace verbena::host
