#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "sim/endnode.h"
#include "sim/findings.h"
#include "sim/network.h"
#include "sim/swarm.h"
#include "sim/unreliable_endpoint.h"
#include "wire/roce/packet.h"

namespace verbena::sim {

// The traffic of the unreliable services between the endnodes: programs that send and receive on
// the same links, adapters and memory as the reliable connections. An endpoint whose queue pair has
// failed is replaced. One thread.
class Unreliable {
 public:
  Unreliable(const Swarm& swarm, Random random, Findings& findings)
      : swarm_(swarm), random_(random), findings_(findings) {}

  // Makes the endpoints, at the start and after a crash.
  void Populate(const std::vector<std::unique_ptr<Endnode>>& endnodes);

  // Sometimes posts a message: in total half as many as the reliable connections.
  void Post(Time now);
  // Programs post receive requests.
  void FillReceives(bool is_calm);
  // An asynchronous event of an endnode; true if it is for an endpoint here.
  bool OnEvent(const adapter::Event& event);
  // A datagram to a group is about to be received by this endnode.
  void OnGroupDatagram(const Event& arrival, const wire::Packet& packet);
  // See ProgramCq.
  void OnCqError(const adapter::Cq* cq);
  void CheckOverflows(const Endnode& node);
  void Poll(Time now);

  // Evicts pages, and lets programs neglect their queues.
  void Disturb(Time now);
  void Calm();
  // REQUIRES: another endnode has replaced the victim.
  void Crashed(const Endnode& victim, Time now);

  [[nodiscard]] bool IsQuiet() const;
  [[nodiscard]] Time next_time() const;
  void Check();
  // All posted work ends, and nothing is left.
  void TakeDown(Time now);

  [[nodiscard]] uint64_t received() const { return received_; }
  // Of groups; and how often an endpoint has left one.
  [[nodiscard]] uint64_t group_received() const { return group_received_; }
  [[nodiscard]] uint64_t departures() const { return departures_; }
  // How often a connection began to hold packets because of absent pages.
  [[nodiscard]] uint64_t kept() const { return kept_; }

 private:
  struct Draft {
    std::shared_ptr<Operation> operation = std::make_shared<Operation>();
    queue::SendWqe wqe;
    std::vector<Sge> sges;
  };
  // A write that its sender has completed; until then, packets of it may be in the network, or wait
  // at the receiver.
  struct Settling {
    Time at;
    QpNumber to;
    uint64_t id;
    uint32_t slot;
    bool must_be_there;
  };

  // unreliable.cc
  void Connect();
  void AddDatagram();
  UnreliableEndpoint& AddEndpoint(Endnode& node, QpType type);
  Psn SomePsn();
  UnreliableEndpoint* Find(QpNumber number) const;
  void PollReceives(UnreliableEndpoint& endpoint);
  void OnMessage(UnreliableEndpoint& endpoint, const Completion& completion, uint64_t offset);
  [[nodiscard]] std::optional<Ipv4Address> ReadGrh(const UnreliableEndpoint* from,
                                                   UnreliableEndpoint& to, uint64_t offset);
  void PollSends(UnreliableEndpoint& endpoint, Time now);
  void Ended(UnreliableEndpoint& endpoint, Operation& operation, bool well, Time now);
  void Settle(Time now);
  void Replace(UnreliableEndpoint& endpoint, Time now);
  void TakeDown(UnreliableEndpoint& endpoint, Time now);
  [[nodiscard]] bool nothing_is_lost() const { return swarm_.link_is_perfect() && !swarm_.crash; }

  // unreliable_groups.cc
  void JoinSome(UnreliableEndpoint& endpoint);
  void JoinOrLeave();
  [[nodiscard]] std::optional<uint32_t> SomeGroup();
  void AddGroupLetter(const UnreliableEndpoint& from, uint32_t group, const Draft& draft);
  void CheckGroupLetters();
  [[nodiscard]] MessagesOracle* OracleFor(UnreliableEndpoint& endpoint, QpNumber source,
                                          Ipv4Address destination);

  // unreliable_post.cc
  bool IsReady(UnreliableEndpoint& endpoint, Time now);
  void DraftBytes(UnreliableEndpoint& from, Draft& draft, uint64_t length_max);
  bool DraftConnected(UnreliableEndpoint& from, Draft& draft);
  void DraftWrite(UnreliableEndpoint& from, UnreliableEndpoint& to, Draft& draft);
  bool DraftDatagram(UnreliableEndpoint& from, Draft& draft);
  [[nodiscard]] Letter MakeLetter(const Draft& draft);
  void AddLetter(UnreliableEndpoint& from, UnreliableEndpoint& to, const Draft& draft);
  void Submit(UnreliableEndpoint& from, Draft& draft, Time now);
  [[nodiscard]] uint64_t SlotAt(uint32_t slot) const { return uint64_t{slot} * swarm_.slot_bytes; }

  const Swarm swarm_;
  Random random_;
  Findings& findings_;
  const std::vector<std::unique_ptr<Endnode>>* endnodes_ = nullptr;
  std::vector<std::unique_ptr<UnreliableEndpoint>> endpoints_;
  std::deque<Settling> settling_;  // nearly by time
  struct GroupLetter {
    QpNumber from;
    Ipv4Address group;
    Letter letter;
    std::set<uint32_t> nodes = {};  // that it has reached
  };
  std::vector<GroupLetter> group_letters_;
  // Of all endpoints so far. A restarted process has the same numbers as before, and messages of
  // its old queue pair cannot be distinguished from those of the new one (docs/security.md).
  std::set<uint32_t> numbers_;
  uint64_t next_id_ = 1;
  uint64_t posted_ = 0;
  uint64_t received_ = 0;
  uint64_t group_received_ = 0;
  uint64_t departures_ = 0;
  bool members_are_first_ = true;  // no endpoint has joined, left or been replaced
  uint64_t kept_ = 0;
};

}  // namespace verbena::sim
