#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "adapter/loop/engine.h"
#include "adapter/objects/srq.h"
#include "base/random.h"
#include "queue/completion.h"
#include "sim/findings.h"
#include "sim/oracle/tags.h"
#include "sim/receive_pool.h"
#include "sim/swarm.h"

namespace verbena::sim {

// The tagged receives of a shared receive queue, their buffers, and the program that adds and
// removes them, and reports how many unexpected messages it has seen. One thread.
class TaggedReceives {
 public:
  // Few, so that receives share tags.
  static constexpr uint64_t kTags = 4;

  // REQUIRES: `memory` has SlotsOf(swarm) slots.
  TaggedReceives(const Swarm& swarm, uint32_t stream, adapter::Engine& engine, adapter::Srq& queue,
                 std::unique_ptr<GuardedMemory> memory);

  [[nodiscard]] static uint32_t SlotsOf(const Swarm& swarm) { return swarm.slots; }
  // Whether the id belongs to a tagged receive, and not to another request of the queue.
  [[nodiscard]] static bool Has(WrId id) { return (id.value() & kIds) != 0; }

  [[nodiscard]] GuardedMemory* guarded() const { return pool_.guarded(); }
  [[nodiscard]] TagsOracle& oracle() { return oracle_; }

  // The program runs, and may make one change.
  void Change();
  // The completion of a change. `is_busy`: messages are in flight.
  void OnOperation(const Completion& completion, bool is_busy, Findings& findings);
  // Whether the received bytes are these.
  [[nodiscard]] bool Holds(WrId id, std::span<const std::byte> bytes, Findings& findings) const;
  // A taken receive has ended.
  void Finish(WrId id, bool well, Findings& findings);
  void CheckEnd(Findings& findings) const;

 private:
  static constexpr uint64_t kIds = uint64_t{1} << 63;

  void Add();
  void Remove();
  void Synchronize();
  TagHandle Execute(const TagOperation& operation);
  [[nodiscard]] uint32_t seen() const { return static_cast<uint32_t>(oracle_.unexpected()); }

  Random random_;
  adapter::Engine& engine_;
  adapter::Srq& srq_;
  ReceivePool pool_;
  TagsOracle oracle_;
  std::map<uint64_t, TagHandle> handles_;  // by id, of those that have not ended
};

}  // namespace verbena::sim
