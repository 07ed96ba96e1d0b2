#include "sim/shared_receives.h"

#include <utility>

namespace verbena::sim {
namespace {

// A separate random stream, so that draws here do not change others.
constexpr uint64_t kStream = 0x5129;

}  // namespace

SharedReceives::SharedReceives(const Swarm& swarm, uint32_t stream, memory::PdId pd,
                               adapter::EventQueue* events, std::unique_ptr<GuardedMemory> memory,
                               const adapter::XrcMembership& xrc,
                               const adapter::TagMatching& matching)
    : swarm_(swarm),
      random_(swarm.seed ^ kStream ^ (uint64_t{stream} << 32)),
      srq_(SlotsOf(swarm), ReceivePool::kSges, pd, events, xrc, matching),
      pool_(std::move(memory), SlotsOf(swarm), swarm.slot_bytes, true) {}

void SharedReceives::Fill(bool is_calm) {
  Observe();
  const bool waits_for_event = swarm_.fills_on_limit && !is_calm && limit_.is_armed();
  if (!waits_for_event) {
    Post(swarm_.srq_limit > 0 && !is_calm ? 1 + random_.Below(SlotsOf(swarm_)) : SlotsOf(swarm_));
  }
  const bool must_arm = swarm_.fills_on_limit && !limit_.is_armed();
  if (must_arm || random_.Chance(swarm_.srq_limit, 1000)) Arm();
}

void SharedReceives::Post(uint64_t most) {
  pool_.Fill(random_, [&](const queue::ReceiveWorkRequest& request) {
    return most-- > 0 && srq_.Post(request).has_value();
  });
  limit_.Posted(srq_.size());
}

// Sometimes above the number posted: then the next request that is taken raises the event. Seldom
// the program disarms it.
void SharedReceives::Arm() {
  const bool disarms = !swarm_.fills_on_limit && random_.Chance(1, 8);
  const auto limit = disarms ? 0 : static_cast<uint32_t>(1 + random_.Below(SlotsOf(swarm_)));
  srq_.SetLimit(limit);
  limit_.Armed(limit);
}

std::optional<uint64_t> SharedReceives::OffsetOf(WrId id, Findings& findings) const {
  if (id.value() + srq_.size() >= pool_.next_id()) {
    findings.Add("completions", "a receive request completed before an older one was taken");
    return std::nullopt;
  }
  return pool_.OffsetOf(id, findings);
}

void SharedReceives::CheckEnd(Findings& findings) const {
  if (!srq_.IsConsistent()) findings.Add("leaks", "the shared receive queue is broken");
  if (pool_.posted() < srq_.size() || pool_.posted() > srq_.size() + lost_max_) {
    findings.Add("completions", "a request was taken of a shared receive queue and has not ended");
  }
}

}  // namespace verbena::sim
