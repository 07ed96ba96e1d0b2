#pragma once

#include <cstdint>
#include <memory>

#include "adapter/objects/srq.h"
#include "base/random.h"
#include "sim/findings.h"
#include "sim/oracle/srq_limit.h"
#include "sim/receive_pool.h"
#include "sim/swarm.h"

namespace verbena::sim {

// The shared receive queue of an endnode, its buffers, and the program that fills it: with all
// buffers whenever it runs, or with a few at the limit event. One thread.
class SharedReceives {
 public:
  // REQUIRES: `memory` has SlotsOf(swarm) slots. `stream`: different for each, so that they draw
  // independently.
  SharedReceives(const Swarm& swarm, uint32_t stream, memory::PdId pd, adapter::EventQueue* events,
                 std::unique_ptr<GuardedMemory> memory, const adapter::XrcMembership& xrc = {},
                 const adapter::TagMatching& matching = {});

  [[nodiscard]] static uint32_t SlotsOf(const Swarm& swarm) { return swarm.slots * 2; }

  [[nodiscard]] adapter::Srq& queue() { return srq_; }
  [[nodiscard]] ReceivePool& pool() { return pool_; }

  // The program runs. In the liveness phase it posts all its buffers.
  void Fill(bool is_calm);
  // The engine may have taken requests.
  void Observe() { limit_.Observe(srq_.size()); }
  // The program has taken a limit event...
  void OnLimit(Findings& findings) { limit_.OnEvent(srq_.size(), findings); }
  // ...or all events that there were.
  void CheckLimit(Findings& findings) { limit_.Check(srq_.size(), srq_.limit(), findings); }
  // The offset of the buffer of a completed request. nullopt if it is out of order.
  [[nodiscard]] std::optional<uint64_t> OffsetOf(WrId id, Findings& findings) const;
  // The completion of a taken request was lost.
  void Lost() { ++lost_max_; }
  // All queue pairs are gone: taken requests have completed.
  void CheckEnd(Findings& findings) const;

  [[nodiscard]] uint64_t limit_events() const { return limit_.events(); }

 private:
  void Post(uint64_t most);
  void Arm();

  const Swarm swarm_;
  Random random_;
  adapter::Srq srq_;
  ReceivePool pool_;
  SrqLimitOracle limit_;
  uint64_t lost_max_ = 0;
};

}  // namespace verbena::sim
