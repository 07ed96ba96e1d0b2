// The part of Engine for the connection manager.

#include <utility>

#include "adapter/loop/engine.h"
#include "base/when_memory.h"

namespace verbena::adapter {
namespace {

// How often a process with a listener tries to get the RoCEv2 port while another process has it. A
// request that is lost when that process ends is retransmitted by its sender after a second.
constexpr Duration kClaimAgain = Milliseconds(100);

}  // namespace

// True if a timer was due.
bool Engine::RunGsi() {
  if (next_claim_ <= now_) EnsureRocePort();
  if (gsi.next_time() > now_) return false;
  // Without memory the work waits for the next input or timer.
  static_cast<void>(WhenMemory([&] {
    AssertHeld();
    gsi.OnTime(now_);
  }));
  return true;
}

void Engine::ReadMailbox() {
  ReadClock();
  // Without memory requests are lost, and retransmitted by their senders.
  static_cast<void>(WhenMemory([&] {
    AssertHeld();
    gsi.OnMailbox(now_);
  }));
  SendMads();
  Transmit();
}

void Engine::SendMads() {
  std::vector<transport::CmDatagram>& datagrams = gsi.datagrams();
  size_t staged = 0;
  while (staged < datagrams.size() && transmitter_.HasRoomFor(1, gsi.number())) {
    transmitter_.StageMad(datagrams[staged++], gsi.number(), mad_psn_);
    mad_psn_ = mad_psn_ + 1;
  }
  datagrams.erase(datagrams.begin(), datagrams.begin() + static_cast<ptrdiff_t>(staged));
}

void Engine::EnsureRocePort() {
  constexpr fabric::EndpointId kFirst{0};
  next_claim_ = Time::Never();
  if (!gsi.has_listeners() || options_.strict || endpoints_.Has(kFirst)) return;
  if (!claim_roce_port_) return;
  next_claim_ = now_ + kClaimAgain;
  // Without memory the next try may succeed.
  static_cast<void>(WhenMemory([&] {
    AssertHeld();
    auto fabric = claim_roce_port_();
    const bool claimed = fabric != nullptr && qps.has_room_for_endpoint() &&
                         AddEndpoint(std::move(fabric)).has_value();
    if (!claimed) return;
    next_claim_ = Time::Never();
    on_claimed_();
  }));
}

}  // namespace verbena::adapter
