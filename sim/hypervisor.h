#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/random.h"
#include "base/time.h"
#include "host/arbiter.h"
#include "host/messages.h"
#include "sim/findings.h"
#include "sim/machine.h"
#include "sim/swarm.h"

namespace verbena::sim {

// What a Hypervisor has at the other end of a connection: the agent in a guest's process.
class HypervisorGuest {
 public:
  virtual ~HypervisorGuest() = default;
  // As the kernel counts them.
  [[nodiscard]] virtual uint64_t resident_bytes() const = 0;
  virtual void Receive(const host::BrokerMessage& message) = 0;
  // The connection is there, for the first time or again: it has to say hello, and what it has.
  virtual void OnConnected() = 0;
};

// What a hypervisor did. A value type.
struct HypervisorCounters {
  uint64_t grants = 0;
  uint64_t lowered = 0;  // of them
  uint64_t quiesces = 0;
  uint64_t resumes = 0;
  uint64_t crashes = 0;      // of the broker
  uint64_t guests_gone = 0;  // that have ended without a word

  HypervisorCounters& operator+=(const HypervisorCounters& other);
};

// The broker of a run, around the real arbiter: connections that delay messages, a record of what
// is granted, crashes after which it starts again from the record, and an operator who has regions
// or parts of them quiesced. Also an oracle: what all guests have in memory is within the budget at
// every step, and no guest, of which all are honest, loses memory. One thread.
class Hypervisor {
 public:
  using GuestNumber = uint32_t;

  Hypervisor(const Swarm& swarm, const VirtualClock& clock);
  Hypervisor(const Hypervisor&) = delete;
  Hypervisor& operator=(const Hypervisor&) = delete;

  // A process begins; it is connected soon.
  [[nodiscard]] GuestNumber Add(HypervisorGuest& guest);
  // It has ended, and all its memory with it. The hypervisor hears of it later.
  void Remove(GuestNumber guest);
  void Send(GuestNumber guest, const host::BrokerMessage& message);

  // When it is calm, the broker does not crash, and the operator does nothing.
  void Step(bool is_calm, Findings& findings);
  [[nodiscard]] const HypervisorCounters& counters() const { return counters_; }

 private:
  struct Process {
    HypervisorGuest* guest = nullptr;                     // nullptr: it has ended
    std::optional<host::GuestId> id = {};                 // of the present broker
    std::optional<uint64_t> recorded = {};                // what was granted to it
    std::map<host::RegionNumber, uint64_t> regions = {};  // bytes of each
    Time connects_at = Time::Never();
    Time gone_at = Time::Never();  // when its end is noticed
    Time last_to, last_from;       // messages of a connection arrive in order
  };
  struct Letter {
    GuestNumber guest = 0;
    bool is_to_guest = false;
    host::BrokerMessage message;
  };

  void Post(GuestNumber number, bool is_to_guest, const host::BrokerMessage& message);
  void Deliver(const Letter& letter);
  void Handle(Process& process, const host::BrokerMessage& message);
  void Attach(Process& process, const host::HelloMessage& hello);
  void HandleRegion(host::GuestId id, const host::RegionEventMessage& event);
  void Measure();
  void CarryOut(Findings& findings);
  void CarryOut(const host::ArbiterAction& action, Findings& findings);
  void Record();
  void Crash();
  void Restart();
  void Operate();
  void CheckBudget(Findings& findings) const;
  [[nodiscard]] Process* Find(host::GuestId id);

  const Swarm swarm_;
  const VirtualClock& clock_;
  Random random_;
  const host::ArbiterOptions options_;
  std::unique_ptr<host::Arbiter> arbiter_;  // nullptr: the broker is dead
  std::map<GuestNumber, Process> processes_;
  std::multimap<Time, Letter> letters_;
  Time restarts_at_ = Time::Never();
  GuestNumber last_number_ = 0;
  HypervisorCounters counters_;
};

}  // namespace verbena::sim
