#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "adapter/loop/engine.h"
#include "adapter/objects/async_events.h"
#include "base/random.h"
#include "memory/memory_core.h"
#include "sim/granted_key.h"
#include "sim/guarded_memory.h"
#include "sim/operation.h"
#include "sim/oracle/access.h"
#include "sim/oracle/atomics.h"
#include "sim/oracle/completions.h"
#include "sim/oracle/faults.h"
#include "sim/oracle/progress.h"
#include "sim/oracle/retries.h"
#include "sim/paging.h"
#include "sim/port.h"
#include "sim/program_cq.h"
#include "sim/receive_pool.h"
#include "sim/shared_receives.h"
#include "sim/swarm.h"

namespace verbena::sim {

// What all endnodes of a run have in common.
struct EndnodeContext {
  const Swarm& swarm;
  const VirtualClock& clock;
  Network& network;
  Port::Tap tap;  // sees arriving packets
};

// A queue pair of an endnode, as its program requests it.
struct QpOrder {
  QpType type = QpType::kRc;
  adapter::Cq* send_cq = nullptr;
  adapter::Cq* receive_cq = nullptr;
  adapter::Srq* srq = nullptr;
  adapter::XrcDomain* xrc_domain = nullptr;
  queue::WorkQueueLimits send = {};
  queue::WorkQueueLimits receive = {};
  RegistrationMode registration = RegistrationMode::kAnticipatory;
};

// A process with an adapter: the engine on its interfaces, and what the programs' connections
// share.
struct Endnode {
  static constexpr uint32_t kCounters = 2;
  static constexpr QKey kQKey{0x1234};

  Endnode(const EndnodeContext& context, uint32_t number, Random& random);

  // One pass, by the first thread that comes: a poller of `cq`, or the progress thread.
  void Pass(const adapter::Cq* cq);
  // A request was posted to `qp`, by a program that polls or does not.
  void Kick(adapter::QueuePair& qp, bool polls);
  [[nodiscard]] bool has_work();
  [[nodiscard]] Time next_time();
  // The next of its asynchronous events.
  [[nodiscard]] std::optional<adapter::Event> TakeEvent();

  // Makes a queue pair in RESET.
  adapter::QueuePair& MakeQp(const QpOrder& order);
  // Moves a queue pair to RTS. `peer`: for a connected one.
  struct Peer {
    QpNumber number;
    uint32_t node = 0;
    Psn first_psn;  // of the peer
  };
  void Connect(adapter::QueuePair& qp, Psn first_psn, const std::optional<Peer>& peer);
  // No effect if the state does not allow it.
  void Modify(adapter::QueuePair& qp, QpState state);
  // Attaches to a group, and detaches. Detach REQUIRES: it is attached.
  void Attach(const adapter::QueuePair& qp, uint32_t group);
  void Detach(const adapter::QueuePair& qp, uint32_t group);
  // The address handle of a group.
  [[nodiscard]] AddressHandleId HandleOf(uint32_t group) const {
    return AddressHandleId(swarm.endnodes + group);
  }
  // One pass by a thread that waits for an event of this channel: returns the queue of the event,
  // if any.
  adapter::Cq* PassFor(adapter::CompletionChannel& channel);
  void RemoveQp(adapter::QueuePair& qp);
  // Drops the pending events of the queue.
  void RemoveCq(adapter::Cq& cq);
  // For the next queue pair. A machine that crashed starts again with the same numbers.
  [[nodiscard]] QpNumber NextNumber();
  // The next queue pair gets another number.
  void SkipNumber();

  // Makes memory of a program on this endnode, with a region over it.
  std::unique_ptr<GuardedMemory> MakeGuardedMemory(const GuardedMemory::Options& options,
                                                   Random& random);
  // False if it is refused, because windows are bound to the region.
  bool Deregister(GuardedMemory& guarded);
  // Deregisters the region, if it still exists. REQUIRES: no window is bound to it.
  void Release(GuardedMemory& guarded);
  // The process dies: posted requests get no completions.
  void Die() {
    is_dead = true;
    port->Die();
    pager.Die();
  }
  // Destroys everything that is left. REQUIRES: the connections are gone.
  void Close(Findings& findings);
  // The shared receive queue that a queue pair of the endnode uses, if there is one.
  [[nodiscard]] adapter::Srq* srq() const { return shared ? &shared->queue() : nullptr; }

  const uint32_t number;
  const Swarm& swarm;
  const VirtualClock& clock;
  bool is_dead = false;
  OneAddress address;
  adapter::AsyncEvents events{1};
  adapter::EventQueue* const event_queue;
  Port* const port;  // of the engine
  Paging pager;
  adapter::Engine engine;
  memory::MemoryCore& core;
  memory::ConsumerId consumer;
  memory::PdId pd;
  AccessOracle access;
  std::unique_ptr<GuardedMemory> counters;
  std::vector<AtomicsOracle> atomics;
  std::unique_ptr<SharedReceives> shared;  // nullptr: each queue pair has its own receive queue
  std::vector<transport::PathId> paths;    // by endnode

 private:
  Endnode(const EndnodeContext& context, uint32_t number, Random& random,
          std::unique_ptr<Port> port);
};

// One end of a connection: a queue pair, its queues, and its program's memory. `local` is for its
// own lists, `exposed` for its peer.
struct Side {
  Side(const Swarm& swarm, Endnode& node, Random& random);
  [[nodiscard]] ReceivePool& receives() { return node->shared ? node->shared->pool() : own_pool; }
  // See ReceivePool.
  [[nodiscard]] std::optional<uint64_t> OffsetOf(WrId id, Findings& findings) const {
    return node->shared ? node->shared->OffsetOf(id, findings) : own_pool.OffsetOf(id, findings);
  }
  [[nodiscard]] GrantedKey* FindGranted(uint64_t id);
  [[nodiscard]] queue::SendQueue& send_queue() const { return qp->send_queue(); }
  // Whether its program polls this queue now. A program that sleeps until events polls after an
  // event, once it has armed the queue again.
  [[nodiscard]] bool Looks(ProgramCq& cq, Time now);
  // A completion was lost, because one of the two queues was full.
  [[nodiscard]] bool has_overflowed() const {
    return send_cq.overflowed() || receive_cq.overflowed();
  }
  // The adapter and its program are gone: posted requests get no completion.
  void Crash();
  // Releases keys and memory.
  void Release();
  void ReleaseGranted(const GrantedKey& granted);

  Endnode* node;
  QpNumber number;
  std::unique_ptr<GuardedMemory> local;
  std::unique_ptr<GuardedMemory> exposed;
  std::unique_ptr<adapter::CompletionChannel> channel;  // nullptr: its program polls
  ProgramCq send_cq;
  ProgramCq receive_cq;
  adapter::QueuePair* qp;  // nullptr after a crash
  ReceivePool own_pool;

  CompletionsOracle sends;
  std::deque<std::shared_ptr<Operation>> inbound;  // messages that the peer has posted
  std::vector<uint32_t> free_local, free_exposed;  // free slots; the exposed ones for the peer
  std::vector<std::unique_ptr<GrantedKey>> granted_keys;  // for the peer
  FaultsOracle faults;
  // RNR NAKs that it has received: for missing receive requests, and for absent pages.
  bool was_not_ready = false;
  bool was_faulting = false;
  RetriesOracle retries;
  ProgressOracle progress;
  std::optional<Psn> next_psn;  // of its requests, as an eavesdropper knows it
  uint64_t model_word = 0;      // of the peer's compare-and-swaps and atomic writes
  bool is_swapped_out = false;
  bool is_draining = false;  // and the event of the drain was not taken yet
  bool has_failed = false;
  std::array<bool, 2> has_event{};  // of the send queue, of the receive queue
};

}  // namespace verbena::sim
