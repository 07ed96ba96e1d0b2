#include "sim/guest_agent.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "managed/arena.h"
#include "sim/draw.h"

namespace verbena::sim {
namespace {

using adapter::GuestEvent;
using adapter::QuiesceState;
using EventKind = host::RegionEventMessage::Kind;

// What an arena cannot do without, and as much again for the guest (TakeoverMemory::SetBudget).
constexpr host::GuestLimits kLimits{.min = 2 * paging::kBudgetMin * kPage};
constexpr uint64_t kPressureMax = 64;   // pages
constexpr int64_t kObeyMax = 3'000;     // microseconds
constexpr uint32_t kReportChance = 20;  // per step, of a thousand

}  // namespace

GuestAgent::GuestAgent(const Parts& parts, Random random, std::function<void(uint64_t)> on_grant)
    : parts_(parts),
      random_(random),
      on_grant_(std::move(on_grant)),
      number_(parts.hypervisor.Add(*this)) {}

uint64_t GuestAgent::resident_bytes() const { return parts_.arena.arena->resident_bytes(); }

void GuestAgent::OnConnected() {
  unobeyed_.reset();
  const auto send = [&](const host::BrokerMessage& message) {
    parts_.hypervisor.Send(number_, message);
  };
  send(host::HelloMessage{.limits = kLimits, .held = grant_});
  send(host::MemoryMessage{.bytes = parts_.arena.size});
  const uint64_t out = is_out_ ? wanted_->last - wanted_->first + 1 : 0;
  send(host::RegionMessage{.region = host::RegionNumber(parts_.region.value()),
                           .bytes = parts_.region_bytes,
                           .out = out});
  if (is_out_ && is_awaited_) SendEvent(EventKind::kInterest);
  // What the broker before this one has asked for, and that did not happen: this one knows nothing
  // of it.
  if (wanted_ && !is_out_) {
    static_cast<void>(parts_.control.SwapInRegion(parts_.region));
    wanted_.reset();
  }
}

void GuestAgent::Receive(const host::BrokerMessage& message) {
  if (const auto* const grant = std::get_if<host::GrantMessage>(&message)) {
    grant_ = grant->bytes;
    unobeyed_ = *grant;
    // The first may come in parts, and nothing is used before it is the minimum.
    if (grant_ < kLimits.min) return;
    has_grant_ = true;
    on_grant_(grant_);
    CHECK(parts_.control.SetMemoryBudget(grant_).has_value());
  } else if (const auto* const request = std::get_if<host::RegionRequestMessage>(&message)) {
    HandleRegion(*request);
  }
}

void GuestAgent::HandleRegion(const host::RegionRequestMessage& request) {
  using Kind = host::RegionRequestMessage::Kind;
  switch (request.kind) {
    case Kind::kQuiesce: {
      std::optional<Range> part;
      if (!request.part.is_whole()) part = Range{request.part.offset, request.part.length};
      const auto state = parts_.control.QuiesceRegion(parts_.region, part, Duration::Max());
      if (!state) return;
      wanted_ = part ? Interval{part->offset, part->offset + part->length - 1}
                     : Interval{0, parts_.region_bytes - 1};
      if (*state == QuiesceState::kQuiet) SwapOut(false);
      return;
    }
    case Kind::kForce:
      return SwapOut(true);
    case Kind::kResume:
      static_cast<void>(parts_.control.SwapInRegion(parts_.region, random_.Chance(1, 2)));
      wanted_.reset();
      emptied_.reset();
      is_out_ = is_awaited_ = false;
      // Events from before belong before it.
      TakeEvents();
      return SendEvent(EventKind::kResumed);
  }
}

void GuestAgent::SwapOut(bool by_force) {
  if (!parts_.control.SwapOutRegion(parts_.region, by_force)) return;
  is_out_ = true;
  ++taken_;
}

void GuestAgent::Step() {
  TakeEvents();
  Acknowledge();
  if (random_.Chance(kReportChance, 1000)) Report();
}

void GuestAgent::TakeEvents() {
  for (const GuestEvent& event : parts_.control.TakeEvents(parts_.node.clock.now)) {
    switch (event.kind) {
      case GuestEvent::Kind::kQuiet:
        SwapOut(false);
        break;
      case GuestEvent::Kind::kSwappedOut: {
        if (!is_out_) break;
        const bool is_empty = event.bytes == wanted_->last - wanted_->first + 1;
        if (is_empty) emptied_ = wanted_;
        emptied_count_ += is_empty ? 1 : 0;
        SendEvent(EventKind::kQuiesced);
        break;
      }
      case GuestEvent::Kind::kAwaited:
        ++awaited_;
        is_awaited_ = true;
        SendEvent(EventKind::kInterest);
        break;
      case GuestEvent::Kind::kOverdue:
      case GuestEvent::Kind::kEnded:
        break;
    }
  }
}

void GuestAgent::Acknowledge() {
  if (!unobeyed_ || resident_bytes() > unobeyed_->bytes) return;
  parts_.hypervisor.Send(number_, host::ObeyedMessage{unobeyed_->sequence});
  unobeyed_.reset();
}

void GuestAgent::Report() {
  const uint64_t faults = parts_.control.QueryUse().faults;
  const adapter::EngineLock lock(parts_.node.engine);
  const uint64_t packets = parts_.node.engine.counters().packets_received;
  parts_.hypervisor.Send(number_, host::UseMessage{.use = {.faults = faults, .activity = packets}});
}

void GuestAgent::SendEvent(EventKind kind) {
  parts_.hypervisor.Send(number_,
                         host::RegionEventMessage{host::RegionNumber(parts_.region.value()), kind});
}

PressureGuest::PressureGuest(Hypervisor& hypervisor, const VirtualClock& clock, Random random)
    : hypervisor_(hypervisor), clock_(clock), random_(random), number_(hypervisor.Add(*this)) {}

void PressureGuest::OnConnected() {
  hypervisor_.Send(number_, host::HelloMessage{.limits = kLimits, .held = grant_.bytes});
  hypervisor_.Send(number_, host::MemoryMessage{.bytes = kPressureMax * kPage});
}

void PressureGuest::Receive(const host::BrokerMessage& message) {
  const auto* const grant = std::get_if<host::GrantMessage>(&message);
  if (grant == nullptr) return;
  grant_ = *grant;
  obeys_at_ = clock_.now + UpTo(random_, kObeyMax);
}

void PressureGuest::Step() {
  if (random_.Chance(1, 100)) wanted_ = random_.Below(kPressureMax + 1) * kPage;
  if (clock_.now >= obeys_at_) {
    obeys_at_ = Time::Never();
    held_ = std::min(held_, grant_.bytes);
    hypervisor_.Send(number_, host::ObeyedMessage{grant_.sequence});
  }
  // It has more than it may until it has obeyed, and never takes more meanwhile.
  if (held_ <= grant_.bytes) held_ = std::min(wanted_, grant_.bytes);
  if (wanted_ > grant_.bytes) ++faults_;
  if (random_.Chance(kReportChance, 1000)) {
    hypervisor_.Send(number_, host::UseMessage{.use = {.faults = faults_, .activity = faults_}});
  }
}

}  // namespace verbena::sim
