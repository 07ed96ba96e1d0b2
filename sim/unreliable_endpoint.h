#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/random.h"
#include "sim/endnode.h"
#include "sim/guarded_memory.h"
#include "sim/oracle/completions.h"
#include "sim/oracle/messages.h"
#include "sim/receive_pool.h"
#include "sim/swarm.h"

namespace verbena::sim {

// A queue pair of an unreliable service, its queues, and its program's memory. For a connection,
// one end.
struct UnreliableEndpoint {
  UnreliableEndpoint(const Swarm& swarm, Endnode& node, QpType type, Random& random);
  // Moves it to RTS; without a peer, it is of the datagram service.
  void Connect(Psn first_psn, const std::optional<Endnode::Peer>& other);

  [[nodiscard]] bool is_connected() const { return peer.has_value(); }
  [[nodiscard]] QpState state() const { return qp->state(); }
  // A completion was lost, because one of the two queues was full.
  [[nodiscard]] bool has_overflowed() const {
    return send_cq.overflowed() || receive_cq.overflowed();
  }
  // Packets have arrived there that were not executed yet.
  [[nodiscard]] bool has_held() const { return qp->has_held(); }
  [[nodiscard]] ReceivePool& receives() { return shared != nullptr ? shared->pool() : own_pool; }
  // See ReceivePool.
  [[nodiscard]] std::optional<uint64_t> OffsetOf(WrId id, Findings& findings) const {
    return shared != nullptr ? shared->OffsetOf(id, findings) : own_pool.OffsetOf(id, findings);
  }
  // All memory of its own.
  [[nodiscard]] std::vector<GuardedMemory*> memories() const;
  // Messages to groups that reached its endnode but not its program.
  [[nodiscard]] uint64_t group_messages_lost() const;
  // Messages that it has dropped, and counted.
  [[nodiscard]] uint64_t dropped() const;
  // Releases keys and memory.
  void Release();

  Endnode* node;
  QpNumber number;
  std::optional<Endnode::Peer> peer;
  std::unique_ptr<GuardedMemory> local;
  std::unique_ptr<GuardedMemory> exposed;  // for its peer
  ProgramCq send_cq;
  ProgramCq receive_cq;
  adapter::QueuePair* qp;
  SharedReceives* shared;  // the endnode's, of a datagram queue pair; or...
  ReceivePool own_pool;    // ...nullptr, and buffers of its own

  CompletionsOracle sends;
  std::map<uint32_t, MessagesOracle> messages;  // to it, by sender
  std::set<uint32_t> groups;                    // to which it is attached
  // Messages to these groups that have reached its endnode, by sender and group.
  std::map<std::pair<uint32_t, uint32_t>, MessagesOracle> group_messages;
  std::vector<uint32_t> free_local, free_exposed;
  bool has_lost_memory = false;
  bool was_keeping = false;  // packets, when last seen
};

}  // namespace verbena::sim
