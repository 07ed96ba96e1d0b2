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

// The shared receive queue of an endnode, its buffers, and the program that keeps it filled: with
// all buffers whenever it comes by, or with a few when the limit event tells it to. One thread.
class SharedReceives {
 public:
  // REQUIRES: `memory` is of SlotsOf(swarm) slots.
  // `stream`: another one for each, so that they draw apart.
  SharedReceives(const Swarm& swarm, uint32_t stream, memory::PdId pd, adapter::EventQueue* events,
                 std::unique_ptr<GuardedMemory> memory, const adapter::XrcMembership& xrc = {},
                 const adapter::TagMatching& matching = {});

  [[nodiscard]] static uint32_t SlotsOf(const Swarm& swarm) { return swarm.slots * 2; }

  [[nodiscard]] adapter::Srq& queue() { return srq_; }
  [[nodiscard]] ReceivePool& pool() { return pool_; }

  // The program comes by. Where nothing goes wrong any more it posts all that it has.
  void Fill(bool is_calm);
  // The engine may have taken requests.
  void Observe() { limit_.Observe(srq_.size()); }
  // The program has taken a limit event...
  void OnLimit(Findings& findings) { limit_.OnEvent(srq_.size(), findings); }
  // ...or all events that there were.
  void CheckLimit(Findings& findings) { limit_.Check(srq_.size(), srq_.limit(), findings); }
  // The bytes of a request that has completed, as an offset. nullopt if it was not its turn.
  [[nodiscard]] std::optional<uint64_t> OffsetOf(WrId id, Findings& findings) const;
  // The completion of a request that was taken found no room.
  void Lost() { ++lost_max_; }
  // All queue pairs are gone: what was taken has completed.
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
