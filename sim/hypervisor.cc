#include "sim/hypervisor.h"

#include <algorithm>
#include <string>
#include <variant>

#include "base/check.h"
#include "sim/draw.h"

namespace verbena::sim {
namespace {

// A separate random stream, so that draws here do not change others.
constexpr uint64_t kStream = 0x4057;
constexpr int64_t kDelayMax = 200;         // microseconds, of a message
constexpr int64_t kNoticeMax = 2'000;      // until the end of a process is noticed
constexpr int64_t kRestartMax = 20'000;    // until there is a broker again
constexpr int64_t kReconnectMax = 10'000;  // until a guest has found it

// Times are shorter than a broker's, because runs are: all but those after which it acts against a
// guest.
host::ArbiterOptions OptionsOf(const Swarm& swarm) {
  host::ArbiterOptions options;
  options.budget = uint64_t{swarm.hypervisor_pages} * kPage;
  options.period = Milliseconds(1);
  options.quiesce_time = Milliseconds(20);
  options.idle_quiesce = Milliseconds(20);
  options.fault_memory = Milliseconds(5);
  options.release_time = Seconds(30);
  options.absence_time = Seconds(30);
  return options;
}

}  // namespace

HypervisorCounters& HypervisorCounters::operator+=(const HypervisorCounters& other) {
  grants += other.grants;
  lowered += other.lowered;
  quiesces += other.quiesces;
  resumes += other.resumes;
  crashes += other.crashes;
  guests_gone += other.guests_gone;
  return *this;
}

Hypervisor::Hypervisor(const Swarm& swarm, const VirtualClock& clock)
    : swarm_(swarm),
      clock_(clock),
      random_(swarm.seed ^ kStream),
      options_(OptionsOf(swarm)),
      arbiter_(std::make_unique<host::Arbiter>(options_)) {}

Hypervisor::GuestNumber Hypervisor::Add(HypervisorGuest& guest) {
  Process& process = processes_[++last_number_];
  process.guest = &guest;
  process.connects_at = clock_.now + UpTo(random_, kDelayMax);
  return last_number_;
}

// What it has sent may still arrive.
void Hypervisor::Remove(GuestNumber guest) {
  Process& process = processes_.at(guest);
  process.guest = nullptr;
  process.connects_at = Time::Never();
  process.gone_at = clock_.now + UpTo(random_, kNoticeMax);
  ++counters_.guests_gone;
}

void Hypervisor::Send(GuestNumber guest, const host::BrokerMessage& message) {
  if (arbiter_) Post(guest, false, message);
}

void Hypervisor::Post(GuestNumber number, bool is_to_guest, const host::BrokerMessage& message) {
  Process& process = processes_.at(number);
  Time& last = is_to_guest ? process.last_to : process.last_from;
  last = std::max(last, clock_.now + UpTo(random_, kDelayMax));
  letters_.emplace(last, Letter{number, is_to_guest, message});
}

void Hypervisor::Step(bool is_calm, Findings& findings) {
  const Time now = clock_.now;
  if (arbiter_ && !is_calm && random_.Chance(swarm_.broker_crashes, 1000)) Crash();
  if (!arbiter_ && now >= restarts_at_) Restart();
  for (auto& [number, process] : processes_) {
    if (now < process.connects_at || !arbiter_) continue;
    process.connects_at = Time::Never();
    process.guest->OnConnected();
  }
  while (!letters_.empty() && letters_.begin()->first <= now) {
    const Letter letter = std::move(letters_.begin()->second);
    letters_.erase(letters_.begin());
    Deliver(letter);
  }
  if (arbiter_) {
    std::erase_if(processes_, [&](const auto& entry) {
      const Process& process = entry.second;
      if (now < process.gone_at) return false;
      if (process.id) arbiter_->OnGone(*process.id, now);
      return true;
    });
    if (!is_calm && random_.Chance(swarm_.quiesces, 1000)) Operate();
    Measure();
    CarryOut(findings);
  }
  CheckBudget(findings);
}

void Hypervisor::Deliver(const Letter& letter) {
  const auto found = processes_.find(letter.guest);
  if (found == processes_.end()) return;
  if (!letter.is_to_guest) return Handle(found->second, letter.message);
  if (found->second.guest != nullptr) found->second.guest->Receive(letter.message);
}

void Hypervisor::Handle(Process& process, const host::BrokerMessage& message) {
  const Time now = clock_.now;
  if (const auto* const hello = std::get_if<host::HelloMessage>(&message)) {
    return Attach(process, *hello);
  }
  if (!process.id) return;
  const host::GuestId id = *process.id;
  if (process.guest != nullptr) arbiter_->OnResident(id, process.guest->resident_bytes(), now);
  if (const auto* const use = std::get_if<host::UseMessage>(&message)) {
    arbiter_->OnUse(id, use->use, now);
  } else if (const auto* const obeyed = std::get_if<host::ObeyedMessage>(&message)) {
    arbiter_->OnAcknowledged(id, obeyed->sequence, now);
  } else if (const auto* const memory = std::get_if<host::MemoryMessage>(&message)) {
    arbiter_->SetRegistered(id, memory->bytes, now);
  } else if (const auto* const region = std::get_if<host::RegionMessage>(&message)) {
    CHECK(arbiter_->AddRegion(id, region->region, region->bytes, region->out, now));
    process.regions[region->region] = region->bytes;
  } else if (const auto* const event = std::get_if<host::RegionEventMessage>(&message)) {
    HandleRegion(id, *event);
  }
}

// As the broker does: a guest that was recorded has what it had. While the broker has not heard of
// the end of others, their minimums may leave no room for a new one, which calls again.
void Hypervisor::Attach(Process& process, const host::HelloMessage& hello) {
  uint64_t held = 0;
  if (process.id) {
    held = arbiter_->Status(*process.id).committed;
    arbiter_->OnGone(*process.id, clock_.now);
    process.id.reset();
  }
  process.regions.clear();
  const auto attached = arbiter_->Attach(hello.limits, held, clock_.now);
  if (attached) {
    process.id = *attached;
    return;
  }
  CHECK(held == 0 && std::ranges::any_of(processes_, [](const auto& entry) {
          return entry.second.guest == nullptr && entry.second.id;
        }));
  if (process.guest != nullptr) process.connects_at = clock_.now + UpTo(random_, kReconnectMax);
}

void Hypervisor::HandleRegion(host::GuestId id, const host::RegionEventMessage& event) {
  using Kind = host::RegionEventMessage::Kind;
  switch (event.kind) {
    case Kind::kQuiesced:
      return arbiter_->OnRegionQuiesced(id, event.region, clock_.now);
    case Kind::kResumed:
      return arbiter_->OnRegionResumed(id, event.region, clock_.now);
    case Kind::kInterest:
      return arbiter_->OnInterest(id, event.region, clock_.now);
    case Kind::kEnded:
      return arbiter_->RemoveRegion(id, event.region, clock_.now);
  }
}

void Hypervisor::Measure() {
  for (const auto& [number, process] : processes_) {
    if (!process.id || process.guest == nullptr) continue;
    const host::GuestStatus status = arbiter_->Status(*process.id);
    if (status.committed <= status.grant && !status.is_rogue) continue;
    arbiter_->OnResident(*process.id, process.guest->resident_bytes(), clock_.now);
  }
}

void Hypervisor::CarryOut(Findings& findings) {
  if (arbiter_->next_time() <= clock_.now) arbiter_->OnTime(clock_.now);
  const auto actions = arbiter_->TakeActions();
  if (actions.empty()) return;
  Record();
  for (const host::ArbiterAction& action : actions) CarryOut(action, findings);
}

void Hypervisor::CarryOut(const host::ArbiterAction& action, Findings& findings) {
  using Kind = host::ArbiterAction::Kind;
  using Request = host::RegionRequestMessage::Kind;
  const auto found = std::ranges::find_if(
      processes_, [&](const auto& entry) { return entry.second.id == action.guest; });
  if (found == processes_.end()) return;
  const GuestNumber number = found->first;
  switch (action.kind) {
    case Kind::kGrant:
      ++counters_.grants;
      return Post(number, true, host::GrantMessage{action.bytes, action.sequence});
    case Kind::kQuiesce:
      ++counters_.quiesces;
      return Post(number, true,
                  host::RegionRequestMessage{action.region, Request::kQuiesce, action.part});
    case Kind::kForce:
      return Post(number, true,
                  host::RegionRequestMessage{action.region, Request::kForce, action.part});
    case Kind::kResume:
      ++counters_.resumes;
      return Post(number, true,
                  host::RegionRequestMessage{action.region, Request::kResume, action.part});
    case Kind::kPunch:
    case Kind::kForget:
      // A process that has ended has nothing to lose.
      if (found->second.guest != nullptr) {
        findings.Add("hypervisor", "an honest guest loses memory");
      }
      return;
  }
}

void Hypervisor::Record() {
  for (auto& [number, process] : processes_) {
    if (!process.id) continue;
    const host::GuestStatus status = arbiter_->Status(*process.id);
    if (process.recorded && status.grant < *process.recorded) ++counters_.lowered;
    process.recorded = status.committed;
  }
}

// Messages under way are lost with the connections.
void Hypervisor::Crash() {
  ++counters_.crashes;
  arbiter_.reset();
  letters_.clear();
  for (auto& [number, process] : processes_) {
    process.id.reset();
    process.connects_at = Time::Never();
  }
  restarts_at_ = clock_.now + UpTo(random_, kRestartMax);
}

void Hypervisor::Restart() {
  arbiter_ = std::make_unique<host::Arbiter>(options_);
  for (auto& [number, process] : processes_) {
    if (process.guest != nullptr) {
      process.connects_at = clock_.now + UpTo(random_, kReconnectMax);
    }
    if (!process.recorded || process.guest == nullptr) continue;
    const auto recalled =
        arbiter_->Attach({.min = host::kGuestMinimum}, *process.recorded, clock_.now);
    CHECK(recalled.has_value());
    arbiter_->OnAbsent(*recalled, clock_.now);
    process.id = *recalled;
  }
}

// A region, or whole pages of one.
void Hypervisor::Operate() {
  for (const auto& [number, process] : processes_) {
    if (!process.id || process.regions.empty() || random_.Chance(1, 2)) continue;
    const auto& [region, bytes] = *process.regions.begin();
    host::RegionPart part;
    if (random_.Chance(1, 2)) {
      const uint64_t pages = bytes / kPage;
      const uint64_t first = random_.Below(pages);
      part = {first * kPage, (1 + random_.Below(pages - first)) * kPage};
    }
    return arbiter_->Quiesce(*process.id, region, part, false, clock_.now);
  }
}

void Hypervisor::CheckBudget(Findings& findings) const {
  uint64_t sum = 0;
  for (const auto& [number, process] : processes_) {
    if (process.guest != nullptr) sum += process.guest->resident_bytes();
  }
  if (sum <= options_.budget) return;
  findings.Add("hypervisor", std::to_string(sum / kPage) +
                                 " pages of all guests are in memory, of " +
                                 std::to_string(options_.budget / kPage) + " in the budget");
}

}  // namespace verbena::sim
