#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/random.h"
#include "memory/memory_core.h"
#include "queue/completion_queue.h"
#include "queue/shared_receive_queue.h"
#include "queue/work_queue.h"
#include "sim/operation.h"
#include "sim/oracle/atomics.h"
#include "sim/oracle/completions.h"
#include "sim/oracle/faults.h"
#include "sim/oracle/shadow.h"
#include "sim/swarm.h"
#include "transport/outbox.h"
#include "transport/rc/rc_qp.h"

namespace verbena::sim {

inline constexpr uint64_t kPage = 4096;

// Pages of a program, one region over them, and what they must hold. Peers and lists name its bytes
// by an offset from kBase, so that no pointer ever reaches a packet. The region is smaller than the
// memory by a page on either side, which nothing may touch.
class Plot {
 public:
  static constexpr uint64_t kBase = 0x100000;

  Plot(memory::MemoryCore& core, memory::PdId pd, uint64_t bytes, memory::Rights rights,
       Random& random);
  Plot(const Plot&) = delete;
  Plot& operator=(const Plot&) = delete;

  [[nodiscard]] const memory::RegionKeys& keys() const { return keys_; }
  [[nodiscard]] uint64_t size() const { return size_; }
  [[nodiscard]] std::byte* At(uint64_t offset) { return memory_.get() + kPage + offset; }
  [[nodiscard]] queue::Sge Bytes(uint64_t offset, uint64_t length) const {
    return {kBase + offset, static_cast<uint32_t>(length), queue::KeyValue(keys_.local.value())};
  }
  [[nodiscard]] queue::Remote Remote(uint64_t offset) const {
    return {kBase + offset, queue::KeyValue(keys_.remote.value())};
  }

  // The system takes a page.
  void Evict(memory::MemoryCore& core, uint64_t page);
  // REQUIRES: no window is bound to it.
  void Release(memory::MemoryCore& core);

  // Offsets as for At.
  void Store(uint64_t offset, std::span<const std::byte> bytes) {
    shadow_.Store(offset + kPage, bytes);
  }
  void Allow(uint64_t id, uint64_t offset, std::vector<std::byte> bytes, bool any = false) {
    shadow_.Allow(id, offset + kPage, std::move(bytes), any);
  }
  Shadow& shadow() { return shadow_; }

 private:
  uint64_t size_;
  std::unique_ptr<std::byte, decltype(&std::free)> memory_;
  memory::RegionKeys keys_;
  Shadow shadow_;
};

// Buffers for messages, some of them posted.
struct ReceivePool {
  std::unique_ptr<Plot> plot;
  std::vector<uint32_t> free;
  std::map<uint64_t, uint32_t> posted;  // id to slot
  uint64_t next_id = 1;
};

// A machine: the tables of its adapter, and what its connections share.
struct Endnode {
  static constexpr uint32_t kCounters = 2;

  Endnode(const Swarm& swarm, uint32_t number, Random& random);
  // Ends all that is left; its connections must be gone.
  void Close(Findings& findings);

  uint32_t number;
  memory::MemoryCore core;
  memory::ConsumerId consumer;
  memory::PdId pd;
  transport::Outbox outbox;
  std::unique_ptr<Plot> counters;
  std::vector<AtomicsOracle> atomics;
  std::unique_ptr<queue::SharedReceiveQueue> srq;
  ReceivePool pool;  // of the SRQ
};

// A window of one side onto a slot of its exposed memory.
struct Window {
  enum class State : uint8_t { kUnbound, kBinding, kBound, kEnding };

  uint64_t id = 0;
  memory::WindowType type = memory::WindowType::kType1;
  memory::Key key;       // the last one; stale unless kBound
  memory::Key next_key;  // while kBinding
  uint32_t slot = 0;
  State state = State::kUnbound;
  bool one_touch = false;
  bool zero_based = false;
  std::shared_ptr<Operation> user;  // of the peer
};

// One end of a connection: a queue pair, its queues, and its program's memory. `local` is for its
// own lists, `exposed` for its peer.
struct Side {
  Side(const Swarm& swarm, Endnode& node, wire::QpNumber number, wire::QpNumber peer_number,
       Random& random);
  [[nodiscard]] ReceivePool& receives() { return node->srq ? node->pool : own_pool; }
  [[nodiscard]] transport::ReceiveSource Source() {
    return node->srq ? transport::ReceiveSource(*node->srq)
                     : transport::ReceiveSource(receive_queue);
  }
  // The end of it all: keys and memory go.
  void Release();

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
  std::deque<uint64_t> receive_order;              // ids, of an own queue
  std::deque<std::shared_ptr<Operation>> inbound;  // messages that the peer has posted
  std::vector<uint32_t> free_local, free_exposed;  // slots; the exposed ones for the peer
  std::vector<std::unique_ptr<Window>> windows;
  FaultsOracle faults;
  uint64_t model_word = 0;  // of the peer's compare-and-swaps and atomic writes
  bool is_swapped_out = false;
  bool has_failed = false;
};

}  // namespace verbena::sim
