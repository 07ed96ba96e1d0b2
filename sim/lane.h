#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "adapter/objects/xrc_domain.h"
#include "base/random.h"
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
  kXrc,       // an extended connection: each message names the SRQ that it is for
  kReactive,  // a reliable one whose sender registers memory, and goes on when that fails
  kTagged,    // one whose messages have tags, which the receiver's queue matches
  kManaged,   // one whose sender writes and reads managed memory of the receiver's
};

// A shared receive queue that lanes end at, and its completion queue.
struct LaneReceiver {
  LaneReceiver(const Swarm& swarm, Endnode& node, LaneKind kind, uint32_t stream,
               const adapter::XrcMembership& xrc, Random& random);

  adapter::Cq cq;
  SharedReceives shared;
  std::unique_ptr<TaggedReceives> tags;  // nullptr: it matches none
};

// What an endnode has for the lanes of a kind that end there: an XRC domain with several receivers,
// or one receiver, with managed memory or not.
struct LaneHost {
  LaneHost(const Swarm& swarm, Endnode& node, LaneKind kind, Random& random);
  // REQUIRES: no lane ends here any more.
  void Release(Findings& findings);

  Endnode* node;
  LaneKind kind;
  adapter::XrcDomain domain;
  std::vector<std::unique_ptr<LaneReceiver>> receivers;
  std::unique_ptr<ManagedMemory> managed;  // nullptr: none
};

inline bool HasFailed(const adapter::QueuePair& qp) { return qp.state() == QpState::kErr; }

// A connection on which one end sends and the other receives: two queue pairs, their memory, and
// what must come of each request.
struct Lane {
  Lane(const Swarm& swarm, Endnode& from, LaneHost& to, Random& random);
  void Connect(Psn first_psn);
  // Keys and memory go.
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
  // Messages that were sent, and not received yet; Operation::to is the index of the receiver.
  std::deque<std::shared_ptr<Operation>> inbound;
  std::vector<uint32_t> free_local, free_exposed;
  // Of one with tags. What a rendezvous has asked for: by the sender, until it is told that the
  // bytes were read, or has them in its own hands; and by id of the receive, until they are there.
  std::map<uint64_t, std::shared_ptr<Operation>> offered;
  std::map<uint64_t, std::shared_ptr<Operation>> reading;
  ReceivePool notices;    // buffers for the notices to the sender
  std::vector<Key> keys;  // that the sender registers by work request, each once
  uint64_t heard_at = 0;  // the version of the list of tags when the last message was received
  bool is_broken = false;
  bool is_provoked = false;  // its sender asked for what it may not have
  // A registration has failed: the send queue flushes until its program resumes it.
  bool is_flushing = false;
  bool is_drained = false;  // reported by an event since
};

}  // namespace verbena::sim
