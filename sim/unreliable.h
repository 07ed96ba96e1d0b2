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

// The traffic of the unreliable services between the endnodes: programs that send and receive, on
// the same links, adapters and memory as the reliable connections. A endpoint whose queue pair has
// failed is replaced. One thread.
class Unreliable {
 public:
  Unreliable(const Swarm& swarm, Random random, Findings& findings)
      : swarm_(swarm), random_(random), findings_(findings) {}

  // Where there are endpoints, now and after a crash.
  void Populate(const std::vector<std::unique_ptr<Endnode>>& endnodes);

  // Posts a message now and then, half as many in all as the reliable connections do.
  void Post(Time now);
  // Programs make receive requests.
  void FillReceives(bool is_calm);
  // An asynchronous event of an endnode; true when it was of one of these.
  bool OnEvent(const adapter::Event& event);
  // A datagram to a group is about to be received by this endnode.
  void OnGroupDatagram(const Event& arrival, const wire::Packet& packet);
  // See ProgramCq.
  void OnCqError(const adapter::Cq* cq);
  void CheckOverflows(const Endnode& node);
  void Poll(Time now);

  // Pages go, and programs look elsewhere.
  void Disturb(Time now);
  void Calm();
  // REQUIRES: another endnode stands in its place.
  void Crashed(const Endnode& victim, Time now);

  [[nodiscard]] bool IsQuiet() const;
  [[nodiscard]] Time next_time() const;
  void Check();
  // Everything that is posted ends, and nothing remains.
  void TakeDown(Time now);

  [[nodiscard]] uint64_t received() const { return received_; }
  // Of groups; and how often an endpoint has left one.
  [[nodiscard]] uint64_t group_received() const { return group_received_; }
  [[nodiscard]] uint64_t departures() const { return departures_; }
  // How often a connection began to keep packets whose pages were absent.
  [[nodiscard]] uint64_t kept() const { return kept_; }

 private:
  struct Draft {
    std::shared_ptr<Operation> operation = std::make_shared<Operation>();
    queue::SendWqe wqe;
    std::vector<Sge> sges;
  };
  // A write that its sender is done with, and of which packets may be on their way until then, or
  // wait at the receiver.
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
  // Of all endpoints there were. A process that starts again has the numbers of before, and nothing
  // tells a message of its old queue pair from one of the new (docs/security.md).
  std::set<uint32_t> numbers_;
  uint64_t next_id_ = 1;
  uint64_t posted_ = 0;
  uint64_t received_ = 0;
  uint64_t group_received_ = 0;
  uint64_t departures_ = 0;
  bool members_are_first_ = true;  // none has joined, left or been replaced
  uint64_t kept_ = 0;
};

}  // namespace verbena::sim
