#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "adapter/port_map.h"
#include "base/random.h"
#include "memory/memory_core.h"
#include "queue/completion_queue.h"
#include "queue/shared_receive_queue.h"
#include "queue/work_queue.h"
#include "sim/loan.h"
#include "sim/operation.h"
#include "sim/oracle/access.h"
#include "sim/oracle/atomics.h"
#include "sim/oracle/completions.h"
#include "sim/oracle/faults.h"
#include "sim/oracle/progress.h"
#include "sim/oracle/retries.h"
#include "sim/pager.h"
#include "sim/plot.h"
#include "sim/receive_pool.h"
#include "sim/swarm.h"
#include "transport/outbox.h"
#include "transport/rc/rc_qp.h"

namespace verbena::sim {

// A machine: the tables of its adapter, and what its connections share.
struct Endnode {
  static constexpr uint32_t kCounters = 2;

  Endnode(const Swarm& swarm, uint32_t number, Random& random);

  // Memory of a program here, with a region over it.
  std::unique_ptr<Plot> MakePlot(const Plot::Options& options, Random& random);
  // False when it is refused, because windows are bound to it.
  bool Deregister(Plot& plot);
  // The region goes, if it has not. REQUIRES: no window is bound to it.
  void Release(Plot& plot);
  // For the next queue pair. A machine that crashed begins again with the same numbers.
  [[nodiscard]] wire::QpNumber NextNumber() {
    return adapter::MakeQpNumber(fabric::EndpointId(static_cast<uint16_t>(number)), next_number_++);
  }
  // Ends all that is left; its connections must be gone.
  void Close(Findings& findings);

  uint32_t number;
  memory::MemoryCore core;
  memory::ConsumerId consumer;
  memory::PdId pd;
  transport::Outbox outbox;
  Pager pager;
  AccessOracle access;
  std::unique_ptr<Plot> counters;
  std::vector<AtomicsOracle> atomics;
  std::unique_ptr<queue::SharedReceiveQueue> srq;
  ReceivePool pool;  // of the SRQ

 private:
  uint32_t next_number_ = 0x100;
};

// One end of a connection: a queue pair, its queues, and its program's memory. `local` is for its
// own lists, `exposed` for its peer.
struct Side {
  Side(const Swarm& swarm, Endnode& node, wire::QpNumber number, wire::QpNumber peer_number,
       Random& random);
  [[nodiscard]] ReceivePool& receives() { return node->srq ? node->pool : own_pool; }
  [[nodiscard]] Loan* FindLoan(uint64_t id);
  [[nodiscard]] transport::ReceiveSource Source() {
    return node->srq ? transport::ReceiveSource(*node->srq, node->pd)
                     : transport::ReceiveSource(receive_queue);
  }
  // The adapter is gone, and its program: nobody hears of what was posted.
  void Crash(Time now);
  // The end of it all: keys and memory go.
  void Release();
  void ReleaseLoan(const Loan& loan);

  Endnode* node;
  wire::QpNumber number;
  std::unique_ptr<Plot> local;
  std::unique_ptr<Plot> exposed;
  queue::SendQueue send_queue;
  queue::ReceiveQueue receive_queue;
  queue::CompletionQueue send_cq;
  queue::CompletionQueue receive_cq;
  std::unique_ptr<transport::RcQp> qp;
  ReceivePool own_pool;

  CompletionsOracle sends;
  std::deque<std::shared_ptr<Operation>> inbound;  // messages that the peer has posted
  std::vector<uint32_t> free_local, free_exposed;  // slots; the exposed ones for the peer
  std::vector<std::unique_ptr<Loan>> loans;        // to the peer
  FaultsOracle faults;
  // RNR NAKs that have reached it: for a receive request that was missing, and for absent pages.
  bool was_not_ready = false;
  bool was_faulting = false;
  RetriesOracle retries;
  ProgressOracle progress;
  std::optional<wire::Psn> next_psn;  // of its requests, as an eavesdropper knows it
  uint64_t model_word = 0;            // of the peer's compare-and-swaps and atomic writes
  bool is_swapped_out = false;
  bool has_failed = false;
};

}  // namespace verbena::sim
