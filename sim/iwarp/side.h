#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "memory/memory_core.h"
#include "queue/completion_queue.h"
#include "queue/work_queue.h"
#include "sim/guarded_memory.h"
#include "sim/iwarp/plan.h"
#include "sim/operation.h"
#include "sim/oracle/completions.h"
#include "transport/iwarp/iwarp_qp.h"

namespace verbena::sim {

// A message of one direction, as its receiver is to see it.
struct IwarpMessage {
  uint64_t id = 0;  // operations with lower ids were executed before
  std::vector<std::byte> bytes = {};
  uint32_t written = 0;  // bytes of the write that has the immediate data
  std::optional<uint32_t> immediate = {};
};

// One machine with its program: memory, and the present queue pair. Operations use slots of the own
// and of the peer's memory, each slot for one operation at a time. One thread.
class IwarpSide {
 public:
  static constexpr uint64_t kSlot = 8192;
  static constexpr uint32_t kSlots = 8;
  static constexpr uint64_t kCounter = kSlots * kSlot;  // in exposed memory: a word for atomics

  IwarpSide(const IwarpPlan& plan, uint32_t number, Random random);
  ~IwarpSide();

  // A new queue pair. The one before must have ended.
  void Connect(const transport::IwarpConfig& config, uint32_t depth, size_t send_buffer);

  [[nodiscard]] memory::Accessor who() const { return {pd, qp_number}; }
  [[nodiscard]] transport::Step MakeStep(Time now) {
    return {.now = now, .memory = core, .outbox = outbox};
  }
  // Keeps the receive queue full.
  void PostReceives();

  // A slot that no operation uses, as one that is used from here on.
  [[nodiscard]] static std::optional<uint32_t> TakeSlot(std::vector<bool>& used, Random& random);

  uint32_t number;
  QpNumber qp_number;
  Random random;
  memory::MemoryCore core;
  memory::PdId pd;
  std::unique_ptr<GuardedMemory> local;     // sources and sinks of its operations
  std::unique_ptr<GuardedMemory> receives;  // receive buffers
  std::unique_ptr<GuardedMemory> exposed;   // for the peer
  Key window;  // type 1, bound to a slot of exposed memory for one message
  transport::Outbox outbox{16};

  std::unique_ptr<queue::SendQueue> send_queue;
  std::unique_ptr<queue::ReceiveQueue> receive_queue;
  std::unique_ptr<queue::CompletionQueue> send_cq;
  std::unique_ptr<queue::CompletionQueue> receive_cq;
  std::unique_ptr<transport::SendBuffer> buffer;
  std::unique_ptr<transport::IwarpQp> qp;

  std::vector<bool> local_used = std::vector<bool>(kSlots);
  std::vector<bool> exposed_used = std::vector<bool>(kSlots);
  CompletionsOracle completions;
  std::deque<std::shared_ptr<Operation>> posted;  // all that are not settled, in order
  std::deque<IwarpMessage> expected;              // messages of the peer that are not received
  uint64_t received = 0;                          // receive requests that have completed
  uint64_t receives_posted = 0;
  bool window_is_used = false;
  bool is_draining = false;
};

}  // namespace verbena::sim
