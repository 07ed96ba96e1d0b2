#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "sim/attacker.h"
#include "sim/connection.h"
#include "sim/findings.h"
#include "sim/lanes.h"
#include "sim/network.h"
#include "sim/swarm.h"
#include "sim/unreliable.h"
#include "sim/workload.h"
#include "wire/pcap.h"

namespace verbena::sim {

// One run: endnodes, connections and programs in virtual time, determined by the seed. First the
// safety phase with all faults that the swarm allows; then the liveness phase without faults, in
// which everything outstanding must end. One thread.
class Simulator {
 public:
  struct Result {
    std::string failure;  // empty: no findings
    uint64_t posted = 0;
    uint64_t packets = 0;
    uint64_t faults = 0;          // page requests
    uint64_t messages = 0;        // of unreliable services, received
    uint64_t group_messages = 0;  // multicast, received by a member
    uint64_t departures = 0;      // of members from their groups
    uint64_t broken = 0;          // connections that failed during the run
    uint64_t severed = 0;         // of these, cut for good
    uint64_t stale = 0;           // packets to a queue pair with the number of a dead one
    uint64_t unmapped = 0;        // connections whose program unmapped memory in use
    uint64_t segments_lost = 0;   // packets that left as segments of one message
    uint64_t paths_single = 0;    // links that were learned to lose segments
    uint64_t copies_failed = 0;   // payloads that were unmapped before the copy
    uint64_t attacks = 0;         // forged packets with the right sequence number
    uint64_t srq_limits = 0;      // SRQ limit events
    uint64_t overflows = 0;       // of completion queues
    uint64_t uc_held = 0;         // times that an unreliable connection held packets for pages
    uint64_t xrc_succeeded = 0;   // messages and writes of extended connections
    uint64_t xrc_refused = 0;     // for a missing receiver
    uint64_t resumed = 0;         // send queues, after a registration had failed
    uint64_t tags_matched = 0;    // messages that found a receive of their tag
    uint64_t unexpected = 0;      // and without one
    uint64_t rendezvous = 0;      // matched messages whose bytes were read
    ManagedCounters managed;
    CachedCounters cached;
    Workload::Tally succeeded{};  // by opcode
    uint64_t digest = 0;          // of all packets and completions: equal for two runs of one seed
    Duration virtual_time;
  };

  // Draws everything from the seed; writes the packets of the links to `capture` unless it is null.
  static Result Run(const Swarm& swarm, wire::PcapngWriter* capture);

 private:
  Simulator(const Swarm& swarm, wire::PcapngWriter* capture);

  // simulator.cc
  Result RunAll();
  void RunSafely();
  void RunToTheEnd();
  void Step();
  void Connect();
  void Connect(uint32_t a, uint32_t b);
  [[nodiscard]] uint32_t SomePeerOf(uint32_t node);
  [[nodiscard]] QpNumber NextNumber(uint32_t node, uint32_t peer);
  void PostSome();
  void RunEndnode(Endnode& node);
  void CheckStates();
  void TakeEvents(Endnode& node);
  void OnAsyncEvent(Connection& connection, int at, const adapter::Event& event);
  void OnDrained(Side& side);
  void OnCqError(const adapter::Cq* cq);
  void CheckOverflows(const Endnode& node);
  void CheckOverflowed(Side& side);
  void Deliver();
  void PollAll();
  void TakeDown(Connection& connection);
  void CheckBeforeTheEnd(Connection& connection);
  void CheckEnded(Connection& connection, int at);
  void ReplaceBroken();
  [[nodiscard]] bool IsQuiet() const;
  [[nodiscard]] Time NextTime();
  void CheckAll();

  // overhear.cc
  void OnSent(uint32_t from, uint32_t to, std::span<const std::byte> bytes);
  void OnArrived(const Event& arrival);
  void Overhear(Side& side, const wire::Packet& packet);
  void OverhearAnswer(Side& side, const wire::Packet& packet);
  [[nodiscard]] bool IsOf(const Side& side, const Side& peer, const Event& arrival) const;

  // disturb.cc
  void Disturb();
  void Forge();
  void Crash();
  void CutSomeLink();
  void SeverSome();

  template <class Fn>
  void ForEachSide(Fn fn) {
    for (auto& connection : connections_) {
      fn(*connection, 0);
      fn(*connection, 1);
    }
  }

  [[nodiscard]] Time now() const { return clock_.now; }

  const Swarm swarm_;
  Random random_;
  Findings findings_;
  VirtualClock clock_;
  Network network_;
  const EndnodeContext context_;
  Workload workload_;
  Unreliable unreliable_;
  std::vector<std::unique_ptr<Endnode>> endnodes_;
  std::vector<std::unique_ptr<Endnode>> crashed_;
  std::unique_ptr<Lanes> xrc_;
  std::unique_ptr<Lanes> reactive_;
  std::unique_ptr<Lanes> tagged_;
  std::unique_ptr<Lanes> managed_;
  std::unique_ptr<Lanes> cached_;
  std::vector<Program*> programs_;  // all other programs
  std::vector<std::unique_ptr<Connection>> connections_;
  bool is_calm_ = false;  // the liveness phase
  uint64_t next_connection_ = 1;
  uint64_t turns_ = 0;
  Attacker attacker_;
  std::vector<std::byte> seen_;  // a packet that an eavesdropper has seen...
  uint32_t seen_to_ = 0;         // ...and its destination
  uint32_t seen_from_ = 0;
  Result result_;
};

}  // namespace verbena::sim
