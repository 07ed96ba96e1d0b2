#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "queue/completion.h"
#include "sim/connection.h"
#include "sim/findings.h"
#include "sim/swarm.h"

namespace verbena::sim {

// The programs at both ends of all connections: what they post, and what they make of completions.
// Each operation has bytes of its own on both sides as long as it is under way, so that what they
// must be in the end is known when it is posted. One thread.
class Workload {
 public:
  Workload(const Swarm& swarm, Random random, Findings& findings)
      : swarm_(swarm), random_(random), findings_(findings) {}

  // Posts some operation from side `from`; false when there is no room for it.
  bool Post(Connection& connection, int from, Time now);
  void FillReceives(Side& side);

  // Takes what the completion queues hold. All receive queues come before all send queues: what a
  // peer is told was received must have been.
  void PollReceives(Connection& connection, int at, Time now);
  void PollSends(Connection& connection, int at, Time now);
  // The send queue of a side is empty.
  void Drained(Connection& connection, int at);

  // The owner takes keys away while they may be in use, and memory.
  void EndSomeWindow(Connection& connection, int owner, Time now);
  void SwapOut(Connection& connection, int owner);
  void SwapIn(Connection& connection, int owner);

  // What packets and pages do excuses this.
  [[nodiscard]] Excuses ExcusesOf(const Connection& connection) const;

 private:
  struct Draft {
    std::shared_ptr<Operation> operation = std::make_shared<Operation>();
    queue::SendWqe wqe;
    std::vector<queue::Sge> sges;
    Window* window = nullptr;
  };

  // workload_post.cc
  bool DraftMessage(Connection& connection, int from, Draft& draft);
  bool DraftWrite(Connection& connection, int from, Draft& draft);
  bool DraftRead(Connection& connection, int from, Draft& draft);
  bool DraftFetchAndAdd(Connection& connection, int from, Draft& draft);
  bool DraftWord(Connection& connection, int from, Draft& draft);
  bool DraftFlush(Connection& connection, int from, Draft& draft);
  bool DraftBind(Connection& connection, int from, Draft& draft);
  bool DraftInvalidate(Connection& connection, int from, Draft& draft);
  bool TakeRemote(Connection& connection, int from, Draft& draft, queue::Remote& remote);
  bool TakeLocal(Side& side, Draft& draft);
  void Gather(Side& side, Draft& draft);
  void MakeIllegal(Connection& connection, int from, Draft& draft);
  void Submit(Connection& connection, int from, Draft& draft, Time now);
  std::vector<std::byte> Noise(uint64_t length);
  uint64_t SomeLength();

  // workload.cc
  void Ended(Connection& connection, int at, Operation& operation, bool well);
  void EndedWell(Connection& connection, int at, Operation& operation);
  void WindowWorkEnded(Side& side, Operation& operation, bool well);
  void Unbound(Side& owner, Window& window);
  void OnMessage(Connection& connection, int at, const queue::Completion& completion,
                 uint64_t offset);
  static Window* FindWindow(Side& side, uint64_t id);
  [[nodiscard]] uint64_t SlotAt(uint32_t slot) const { return uint64_t{slot} * swarm_.slot_bytes; }

  const Swarm swarm_;
  Random random_;
  Findings& findings_;
  uint64_t next_id_ = 1;
};

}  // namespace verbena::sim
