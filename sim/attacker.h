#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/random.h"
#include "sim/connection.h"
#include "sim/network.h"
#include "sim/swarm.h"
#include "wire/roce/opcode.h"

namespace verbena::sim {

// An attacker that sees every packet, and forges some with the sequence number and the queue pair
// that the victim expects, and with any opcode. It has no key that grants the access: only random
// keys, stale ones, those of other queue pairs, and right ones with bytes out of range. It may
// break the connection, and forge responses of the peer, but must not touch a byte without a right.
class Attacker {
 public:
  Attacker(const Swarm& swarm, Random random) : swarm_(swarm), random_(random) {}

  // A forged packet to side `at`; the oracles of the connection are informed. nullopt if the
  // attacker knows too little.
  [[nodiscard]] std::optional<Event> Attack(
      const std::vector<std::unique_ptr<Connection>>& connections, Connection& connection, int at);

 private:
  struct Target {
    uint32_t key = 0;
    uint64_t address = 0;
  };

  Target SomeTarget(const std::vector<std::unique_ptr<Connection>>& connections, Side& victim,
                    uint64_t length);
  std::optional<Target> SomeGranted(const std::vector<std::unique_ptr<Connection>>& connections,
                                    const Side& victim);
  std::vector<std::byte> Build(const wire::OpcodeInfo& info, Psn psn, QpNumber to,
                               const Target& target, uint32_t length);

  const Swarm swarm_;
  Random random_;
};

}  // namespace verbena::sim
