#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "base/random.h"
#include "queue/completion.h"
#include "sim/findings.h"
#include "sim/lane.h"
#include "sim/program.h"
#include "sim/swarm.h"

namespace verbena::sim {

// The lanes of one kind between the endnodes, and their programs. A failed lane is replaced.
class Lanes final : public Program {
 public:
  // REQUIRES: the vector of endnodes outlives this; its elements may be replaced.
  Lanes(LaneKind kind, const Swarm& swarm, const std::vector<std::unique_ptr<Endnode>>& endnodes,
        Findings& findings);

  void Post(Time now) override;
  void Disturb() override;
  void FillReceives(bool is_calm) override;
  void Poll(bool is_calm) override;
  bool OnEvent(const Endnode& node, const adapter::Event& event) override;
  void OnNoMoreEvents(const Endnode& node) override;
  void Crashed(const Endnode& victim) override;
  [[nodiscard]] bool IsQuiet() const override;
  void Check() override;
  void TakeDown() override;

  // Messages and writes that succeeded, requests for a missing receiver, and failed registrations
  // after which the sender continued.
  [[nodiscard]] uint64_t succeeded() const { return succeeded_; }
  [[nodiscard]] uint64_t refused() const { return refused_; }
  [[nodiscard]] uint64_t resumed() const { return resumed_; }
  // Messages with and without a matching receive, and the bytes read by rendezvous.
  [[nodiscard]] uint64_t matched() const { return matched_; }
  [[nodiscard]] uint64_t unexpected() const { return unexpected_; }
  [[nodiscard]] uint64_t rendezvous() const { return rendezvous_; }
  [[nodiscard]] ManagedCounters managed_counters() const;
  // Of all registration caches, and the pages that their programs have given up.
  [[nodiscard]] CachedCounters cached_counters() const;

 private:
  // lanes.cc
  void Connect();
  LaneHost& HostOn(Endnode& node);
  void Reserve(Endnode& node);
  void PollReceiver(LaneReceiver& receiver, uint32_t index);
  void OnReceive(LaneReceiver& receiver, uint32_t index, const Completion& completion);
  void OnMessage(Lane& lane, LaneReceiver& receiver, uint32_t index, const Completion& completion,
                 uint64_t offset);
  void PollSends(Lane& lane);
  void Free(Lane& lane, const Operation& operation);
  void Ended(Lane& lane, Operation& operation, bool well);
  void OnError(Lane& lane, const Completion& completion);
  void ResumeSome(Lane& lane, bool is_calm);
  bool OnLaneEvent(Lane& lane, const Endnode& node, const adapter::Event& event);
  Lane* Find(QpNumber receiver);
  void TakeDown(Lane& lane);
  void Remove(const Lane& lane);
  [[nodiscard]] AllowedErrors AllowedErrorsOf(const Lane& lane) const;
  [[nodiscard]] bool pages_may_fail() const {
    return swarm_.page_in_failure > 0 || (kind_ == LaneKind::kManaged && swarm_.store_may_fail());
  }

  // lanes_managed.cc
  void PostManaged(Lane& lane, Time now);
  void PostManagedRead(Lane& lane, uint32_t slot, Time now);
  void OnManagedEnded(Lane& lane, const Operation& operation, bool well);
  void ReadAllManaged();
  void RunHypervisor(bool is_calm);
  [[nodiscard]] LaneHost* SomeManagedHost();

  // lanes_cached.cc
  CachedMemory* CachedOn(Endnode& node);
  void PostCached(Lane& lane, Time now);
  void PostFromCached(Lane& lane, Time now);
  void PostReadToCached(Lane& lane, Time now);
  void PostToCachedPeer(Lane& lane, Time now);
  void PostReadFromCachedPeer(Lane& lane, Time now);
  void OnCachedEnded(Lane& lane, const Operation& operation, bool well);
  void EndCached();

  // lanes_tags.cc
  void FillNotices(Lane& lane);
  void PostTagged(Lane& lane, Time now);
  bool OnTags(LaneReceiver& receiver, const Completion& completion);
  void OnMatched(Lane& lane, LaneReceiver& receiver, const Completion& completion);
  void OnRead(Lane& lane, LaneReceiver& receiver, const Completion& completion);
  void OnUnmatched(Lane& lane, LaneReceiver& receiver, Operation& message,
                   const Completion& completion);
  void PollNotices(Lane& lane);
  void EndOffer(Lane& lane, uint64_t id);
  [[nodiscard]] bool IsBusy(const LaneHost& host, const Lane* beside) const;
  [[nodiscard]] static TagsOracle::Version SinceOf(const Lane& lane, const Operation& message);

  // lanes_post.cc
  void PostSome(Lane& lane, Time now);
  void PostWrite(Lane& lane, Time now);
  void PostSend(Lane& lane, Time now);
  void PostRegistered(Lane& lane, Time now);
  void PostBadRegistration(Lane& lane, Time now);
  std::shared_ptr<Operation> MakeOperation(Lane& lane);
  void Submit(Lane& lane, std::shared_ptr<Operation> operation, queue::SendWqe wqe,
              const std::vector<Sge>& sges, Time now, const std::vector<uint64_t>& pages = {});
  [[nodiscard]] uint64_t SlotAt(uint32_t slot) const { return uint64_t{slot} * swarm_.slot_bytes; }

  const LaneKind kind_;
  const Swarm swarm_;
  Random random_;
  const std::vector<std::unique_ptr<Endnode>>& endnodes_;
  Findings& findings_;
  std::unique_ptr<Hypervisor> hypervisor_;  // nullptr: none
  std::vector<std::unique_ptr<PressureGuest>> pressure_;
  std::vector<std::unique_ptr<LaneHost>> hosts_;
  std::vector<std::unique_ptr<CachedMemory>> cached_;  // one for each endnode that has lanes
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::set<uint32_t> numbers_;  // of all queue pairs so far
  uint64_t next_id_ = 1;
  uint64_t posted_ = 0;
  uint64_t succeeded_ = 0;
  uint64_t refused_ = 0;
  uint64_t resumed_ = 0;
  uint64_t matched_ = 0;
  uint64_t unexpected_ = 0;
  uint64_t rendezvous_ = 0;
  ManagedCounters managed_of_gone_;  // of destroyed hosts
  CachedCounters cached_of_gone_;
};

}  // namespace verbena::sim
