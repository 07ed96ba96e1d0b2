#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "transport/common/refusal_counters.h"

namespace verbena::adapter {

// Why a packet that arrived went no further. One is a fact, many are an attack or a broken peer.
enum class Drop : uint8_t {
  kMalformed,  // not a packet of ours: opcode, lengths, pad
  kBadIcrc,
  kNoSuchQp,
  kWrongPeer,  // of a connected queue pair: from elsewhere, or to another of our addresses
  kWrongPort,  // from another UDP port than that of the sender's endpoint: stale, forged, foreign
  kWrongPKey,
  kWrongService,  // its opcode is of another kind of queue pair
  kNoMember,      // no queue pair here is in the multicast group
};
inline constexpr size_t kDrops = 8;

const char* NameOf(Drop drop);

// What went through a port. Written under the engine's lock. A value type.
struct PortCounters {
  uint64_t packets_sent = 0;  // loopback included
  uint64_t bytes_sent = 0;
  uint64_t packets_received = 0;
  uint64_t bytes_received = 0;
  uint64_t loopback_packets = 0;  // that met no socket
  uint64_t paths_gone = 0;        // packets whose address handle was destroyed meanwhile
  uint64_t paths_single = 0;      // found to lose segments: see transport::SegmentLosses
  uint64_t page_requests = 0;
  uint64_t pages_refused = 0;      // requests for pages that were not to be had
  uint64_t pages_invalidated = 0;  // that had gone without a word
  uint64_t copies_failed = 0;      // payload that was gone when it was to be sent
  uint64_t passes = 0;
  std::array<uint64_t, kDrops> dropped{};
  transport::RefusalCounters refusals;

  [[nodiscard]] uint64_t dropped_for(Drop drop) const { return dropped[static_cast<size_t>(drop)]; }
};

// What went through one queue pair. Written under the engine's lock. A value type.
struct QpCounters {
  uint64_t packets_sent = 0;
  uint64_t bytes_sent = 0;
  uint64_t packets_received = 0;
  uint64_t bytes_received = 0;
  uint64_t page_requests = 0;
  // Of the requester of a reliable connection.
  uint64_t timeouts = 0;
  uint64_t sequence_naks = 0;
  uint64_t rnr_naks = 0;
  uint64_t lost_responses = 0;
  uint64_t page_waits = 0;
  // Messages that an unreliable one dropped.
  uint64_t dropped_out_of_sequence = 0;
  uint64_t dropped_no_receive = 0;
  uint64_t dropped_pages_absent = 0;
  uint64_t dropped_refused = 0;  // key, Q_Key, rights or length
};

}  // namespace verbena::adapter
