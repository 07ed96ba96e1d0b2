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
#include "transport/segment_losses.h"

namespace verbena::sim {

// What an adapter does with an outbox: packets are put together and sent, pages are asked for.
// Where links lose what leaves together, it joins packets as the fabric does, and learns as the
// adapter does. One thread.
class Transmitter {
 public:
  struct Counters {
    uint64_t packets = 0;
    uint64_t page_requests = 0;
    uint64_t digest = 0;         // of every packet
    uint64_t segments_lost = 0;  // packets, because they left together
    uint64_t paths_single = 0;   // where it was learned
  };

  Transmitter(const Swarm& swarm, Random random, Network& network)
      : swarm_(swarm), random_(random), network_(network) {}

  // Pages come quickly from now on, and all of them.
  void Calm() { is_calm_ = true; }

  // Returns what went out. If a byte of it has been unmapped: which, and nothing was sent.
  Result<std::vector<std::byte>, memory::MachineAddress> Send(Time now, uint32_t from, uint32_t to,
                                                              const transport::OutPacket& packet);
  // What was sent since the last time leaves.
  void Flush(Time now);
  void RequestPages(Time now, const transport::PageRequest& request);

  // What a queue pair of the first endnode says of the link to the second.
  void Learn(Time now, uint32_t from, uint32_t to, const transport::SegmentReport& report);
  [[nodiscard]] bool segments_in_doubt() const { return losses_.in_doubt(); }

  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  // Packets that leave as one, as the system would take them.
  struct Message {
    uint32_t from = 0;
    uint32_t to = 0;
    bool is_single = false;
    std::vector<std::vector<std::byte>> segments = {};
  };

  [[nodiscard]] transport::SegmentPath PathOf(uint32_t from, uint32_t to, size_t bytes) const;
  [[nodiscard]] bool CanJoin(uint32_t from, uint32_t to, bool is_single, size_t size) const;

  const Swarm swarm_;
  Random random_;
  Network& network_;
  Message message_;
  transport::SegmentLosses losses_;
  bool is_calm_ = false;
  Counters counters_;
};

}  // namespace verbena::sim
