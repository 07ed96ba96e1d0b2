#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "adapter/objects/xrc_domain.h"
#include "base/random.h"
#include "sim/cached_memory.h"
#include "sim/endnode.h"
#include "sim/guarded_memory.h"
#include "sim/managed_memory.h"
#include "sim/operation.h"
#include "sim/oracle/completions.h"
#include "sim/shared_receives.h"
#include "sim/swarm.h"
#include "sim/tagged_receives.h"

namespace verbena::sim {

enum class LaneKind : uint8_t {
  kXrc,       // XRC: each message addresses an SRQ
  kReactive,  // reliable; the sender registers memory, and continues after a failure
  kTagged,    // messages with tags, for a tag matching queue
  kManaged,   // the sender writes and reads managed memory of the receiver
  kCached,    // both ends register a buffer for each operation, through their registration caches
};

// A shared receive queue at which lanes end, and its completion queue.
struct LaneReceiver {
  LaneReceiver(const Swarm& swarm, Endnode& node, LaneKind kind, uint32_t stream,
               const adapter::XrcMembership& xrc, Random& random);

  adapter::Cq cq;
  SharedReceives shared;
  std::unique_ptr<TaggedReceives> tags;  // nullptr: no tag matching
};

// The receiving end of the lanes of a kind on an endnode: an XRC domain with several receivers, or
// one receiver, with or without managed memory.
struct LaneHost {
  LaneHost(const Swarm& swarm, Endnode& node, LaneKind kind, Random& random,
           Hypervisor* hypervisor);
  // REQUIRES: no lane ends here any more.
  void Release(Findings& findings);

  Endnode* node;
  LaneKind kind;
  adapter::XrcDomain domain;
  std::vector<std::unique_ptr<LaneReceiver>> receivers;
  std::unique_ptr<ManagedMemory> managed;  // nullptr: none
};

inline bool HasFailed(const adapter::QueuePair& qp) { return qp.state() == QpState::kErr; }

// A one-way connection: two queue pairs, their memory, and the expected result of each request.
struct Lane {
  Lane(const Swarm& swarm, Endnode& from, LaneHost& to, Random& random);
  void Connect(Psn first_psn);
  // Releases keys and memory.
  void Release();

  [[nodiscard]] bool has_failed() const { return HasFailed(*sender) || HasFailed(*receiver); }
  [[nodiscard]] bool has_room() const;
  [[nodiscard]] bool is_idle() const;

  Endnode* from;
  LaneHost* host;
  std::unique_ptr<GuardedMemory> local;    // of the sender
  std::unique_ptr<GuardedMemory> exposed;  // of the receiver, for writes
  adapter::Cq send_cq;
  adapter::Cq notice_cq;  // of the sender's receives
  adapter::QueuePair* sender;
  adapter::QueuePair* receiver;

  CompletionsOracle sends;
  // Messages that were sent and not received yet; Operation::to is the index of the receiver.
  std::deque<std::shared_ptr<Operation>> inbound;
  std::vector<uint32_t> free_local, free_exposed;
  CachedMemory* cached = nullptr;       // of the sender...
  CachedMemory* cached_peer = nullptr;  // ...and of the receiver; nullptr: none
  // For tags: outstanding rendezvous. `offered`: at the sender, until it is notified that the bytes
  // were read, or completes them itself; the other by id of the receive, until the bytes are there.
  std::map<uint64_t, std::shared_ptr<Operation>> offered;
  std::map<uint64_t, std::shared_ptr<Operation>> reading;
  ReceivePool notices;    // buffers for the sender's notices
  std::vector<Key> keys;  // that the sender registers by work request, each once
  uint64_t heard_at = 0;  // version of the tag list when the last message was received
  bool is_broken = false;
  bool is_provoked = false;  // its sender made a request that must fail
  // A registration has failed: the send queue flushes until the program resumes it.
  bool is_flushing = false;
  bool is_drained = false;  // an event has reported it
};

}  // namespace verbena::sim
