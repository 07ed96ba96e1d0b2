#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "base/time.h"
#include "sim/network.h"
#include "sim/swarm.h"
#include "transport/outbox.h"

namespace verbena::sim {

// What an adapter does with an outbox: packets are put together and sent, pages are asked for. One
// thread.
class Transmitter {
 public:
  struct Counters {
    uint64_t packets = 0;
    uint64_t page_requests = 0;
    uint64_t digest = 0;  // of every packet
  };

  Transmitter(const Swarm& swarm, Random random, Network& network)
      : swarm_(swarm), random_(random), network_(network) {}

  // Pages come quickly from now on, and all of them.
  void Calm() { is_calm_ = true; }

  // Returns what went out. If a byte of it has been unmapped: which, and nothing was sent.
  Result<std::vector<std::byte>, memory::MachineAddress> Send(Time now, uint32_t from, uint32_t to,
                                                              const transport::OutPacket& packet);
  void RequestPages(Time now, const transport::PageRequest& request);

  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  const Swarm swarm_;
  Random random_;
  Network& network_;
  bool is_calm_ = false;
  Counters counters_;
};

}  // namespace verbena::sim
