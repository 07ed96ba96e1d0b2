#pragma once

#include <array>
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

// The programs at both ends of all reliable connections: what they post, and how they check
// completions. Each outstanding operation has its own bytes on both sides, so that their final
// values are known when it is posted. One thread.
class Workload {
 public:
  Workload(const Swarm& swarm, Random random, Findings& findings)
      : swarm_(swarm), random_(random), findings_(findings) {}

  // Posts an operation from side `from`; false if there is no room for it.
  bool Post(Connection& connection, int from, Time now);
  void FillReceives(Side& side);

  // Polls the completion queues. All receive queues are polled before all send queues: a message
  // that a peer knows to be received must have been received.
  void PollReceives(Connection& connection, int at, Time now);
  void PollSends(Connection& connection, int at, Time now);
  // The send queue of a side is empty.
  void Drained(Connection& connection, int at);
  // A fetch-and-add may have been executed, or not.
  static void BecameDoubtful(Connection& connection, int at, const Operation& operation);

  // The owner revokes keys that may be in use, and memory.
  void EndSomeGranted(Connection& connection, int owner, Time now);
  void SwapOut(Connection& connection, int owner);
  void SwapIn(Connection& connection, int owner);
  void DeregisterSome(Connection& connection, int owner);
  void UnmapSome(Connection& connection, int owner);

  // Successful operations, by opcode.
  using Tally = std::array<uint64_t, queue::kSendOpcodeCount>;
  [[nodiscard]] const Tally& succeeded() const { return succeeded_; }

  // The errors that packets and pages allow.
  [[nodiscard]] AllowedErrors AllowedErrorsOf(const Connection& connection) const;

 private:
  struct Draft {
    std::shared_ptr<Operation> operation = std::make_shared<Operation>();
    queue::SendWqe wqe;
    std::vector<Sge> sges;
    std::vector<uint64_t> pages;
    GrantedKey* granted = nullptr;  // key of the peer that it uses
  };

  // workload_post.cc
  bool DraftSome(Connection& connection, int from, Draft& draft);
  bool DraftMessage(Connection& connection, int from, Draft& draft);
  bool DraftWrite(Connection& connection, int from, Draft& draft);
  bool DraftRead(Connection& connection, int from, Draft& draft);
  bool DraftFetchAndAdd(Connection& connection, int from, Draft& draft);
  bool DraftWord(Connection& connection, int from, Draft& draft);
  bool DraftFlush(Connection& connection, int from, Draft& draft);
  bool DraftDelay(Draft& draft);
  bool TakeRemote(Connection& connection, int from, Draft& draft, RemoteAddress& remote);
  bool TakeLocal(Side& side, Draft& draft);
  void Gather(Side& side, Draft& draft);
  void Submit(Connection& connection, int from, Draft& draft, Time now);
  uint64_t SomeLength();

  // workload_illegal.cc
  void MakeIllegal(Connection& connection, int from, Draft& draft);
  bool MisplaceAtomic(queue::Atomic& atomic);
  void MisplaceRemote(Side& peer, RemoteAddress& remote, const Draft& draft);
  void MarkHopeless(Connection& connection, int from, Draft& draft);

  // workload_loans.cc
  bool DraftGrant(Connection& connection, int from, Draft& draft);
  GrantedKey* FreeGranted(Side& side);
  void MakeGranted(Side& side, GrantedKey& granted);
  void LendByCall(Side& side, GrantedKey& granted, bool is_present);
  void DraftBind(Side& side, GrantedKey& granted, Draft& draft);
  void DraftRegister(Connection& connection, int from, GrantedKey& granted, Draft& draft);
  void Grant(Side& side, const GrantedKey& granted, Key key);
  bool DraftInvalidate(Connection& connection, int from, Draft& draft);
  GrantedKey* SomeIdleGranted(Side& side);
  void GrantWorkEnded(Side& side, Operation& operation, bool well);
  static void Lent(Side& owner, GrantedKey& granted, const Operation& operation);
  void Returned(Side& owner, GrantedKey& granted);
  void Spent(Side& owner, GrantedKey& granted, const Operation& operation);
  void LoseExposed(Connection& connection, int owner);

  // workload.cc
  void TakeReceives(Connection& connection, int at, Time now);
  void TakeSends(Connection& connection, int at, Time now);
  void CheckPace(Connection& connection, int at, const Operation& operation, Time now);
  void CheckRetries(Connection& connection, int at, CompletionStatus status);
  void OnDoubtfulMessage(Side& side, const Completion& completion);
  void ReceiveFailed(Connection& connection, int at, CompletionStatus status, Time now);
  void Ended(Connection& connection, int at, Operation& operation, bool well);
  void EndedWell(Connection& connection, int at, Operation& operation);
  void OnMessage(Connection& connection, int at, const Completion& completion, uint64_t offset);
  [[nodiscard]] uint64_t SlotAt(uint32_t slot) const { return uint64_t{slot} * swarm_.slot_bytes; }

  const Swarm swarm_;
  Random random_;
  Findings& findings_;
  uint64_t next_id_ = 1;
  Tally succeeded_{};
};

}  // namespace verbena::sim
