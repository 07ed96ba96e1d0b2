#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace verbena {

// Why a packet that arrived was dropped. A single one is normal; many point to an attack or a
// broken peer.
enum class Drop : uint8_t {
  kMalformed,  // not a RoCE packet: opcode, lengths, pad
  kBadIcrc,
  kNoSuchQp,
  kWrongPeer,  // of a connected queue pair: another source, or another destination address of this
               // machine
  kWrongPort,  // not the UDP port of the sender's endpoint: stale, forged, or not Verbena
  kWrongPKey,
  kWrongService,  // its opcode belongs to another type of queue pair
  kNoMember,      // no queue pair of this process is in the multicast group
};
inline constexpr size_t kDrops = 8;

const char* NameOf(Drop drop);

// Why a datagram was dropped instead of sent. The transport retransmits it, or for unreliable
// services it is lost, as on any network.
enum class SendDrop : uint8_t {
  kTooLong,              // longer than the path allows
  kUnreachable,          // no route, interface down, or the source address is not of this machine
  kForbidden,            // a firewall, or the policy of the kernel
  kNoMemory,             // the kernel has no memory
  kSegmentationRefused,  // the device cannot segment; plain datagrams are used from then on
  kOther,
};
inline constexpr size_t kSendDrops = 6;

const char* NameOf(SendDrop drop);

// The checks of an access to registered memory, by their letters: see docs/memory.md.
// Completion::vendor_error also names the check that refused.
inline constexpr char kFirstCheck = 'a';
inline constexpr size_t kChecks = 7;
inline constexpr size_t kRemoteChecks = 6;  // g is for binds

// How often each check has refused, 'a' first.
struct RefusalCounters {
  std::array<uint64_t, kChecks> local{};         // work requests of this side
  std::array<uint64_t, kRemoteChecks> remote{};  // requests of peers
};

// The traffic of a port since the device was opened.
struct PortCounters {
  uint64_t packets_sent = 0;  // loopback included
  uint64_t bytes_sent = 0;
  uint64_t packets_received = 0;
  uint64_t bytes_received = 0;
  uint64_t loopback_packets = 0;  // that did not use a socket
  uint64_t paths_gone = 0;        // packets whose address handle was destroyed meanwhile
  uint64_t paths_single = 0;      // that lose segments: datagrams are sent one by one
  uint64_t page_requests = 0;
  uint64_t pages_refused = 0;      // requests for pages that could not be paged in
  uint64_t pages_invalidated = 0;  // that were gone without notice
  uint64_t copies_failed = 0;      // payload that was gone when it was to be sent
  uint64_t passes = 0;             // of the engine
  std::array<uint64_t, kDrops> dropped{};
  RefusalCounters refusals = {};

  [[nodiscard]] uint64_t dropped_for(Drop drop) const { return dropped[static_cast<size_t>(drop)]; }
};

// The work of the sockets.
struct SocketCounters {
  uint64_t datagrams_sent = 0;
  uint64_t bytes_sent = 0;
  uint64_t messages_sent = 0;  // groups of datagrams that the kernel took as one
  uint64_t send_calls = 0;
  uint64_t send_blocked = 0;  // calls for which the kernel had no room
  std::array<uint64_t, kSendDrops> send_dropped{};

  uint64_t datagrams_received = 0;
  uint64_t bytes_received = 0;
  uint64_t messages_received = 0;
  uint64_t receive_calls = 0;
  uint64_t malformed = 0;
  uint64_t kernel_drops = 0;  // because the receive buffer was full

  [[nodiscard]] uint64_t dropped_for(SendDrop drop) const {
    return send_dropped[static_cast<size_t>(drop)];
  }
};

// How registered memory was kept within its budget: Options::memory_budget.
struct BudgetCounters {
  uint64_t regions_taken_over = 0;  // whose memory was put under the budget
  uint64_t bytes_taken_over = 0;
  uint64_t regions_native = 0;  // whose memory could not be
  uint64_t resident_peak = 0;   // bytes
  uint64_t program_faults = 0;  // accesses of the program that waited
  // Page faults of the adapter on managed memory, by the stage of translation (docs/guests.md).
  uint64_t first_stage_faults = 0;  // resolved by the adapter: the region did not name the page
  uint64_t second_stage_faults =
      0;  // resolved by the pager: the page was not known to be in memory
  uint64_t first_stage_present = 0;  // of the first stage, those whose page was in memory
  uint64_t pages_read = 0;
  uint64_t pages_written = 0;
  uint64_t pages_lost = 0;
};

// What the connection manager did.
struct CmUseCounters {
  uint64_t requests_sent = 0;
  uint64_t requests_received = 0;
  uint64_t established = 0;
  // How connections, and attempts to make one, ended.
  uint64_t rejected = 0;  // by this program
  uint64_t rejected_by_peers = 0;
  uint64_t unreachable = 0;
  uint64_t disconnected = 0;
  // Requests that were refused before the program heard of them.
  uint64_t refused_no_listener = 0;
  uint64_t refused_full = 0;  // the backlog or a table was full
  uint64_t refused_stale = 0;
  uint64_t handshake_timeouts = 0;  // peers of iWARP that did not send their request in time
  uint64_t accepts_postponed = 0;   // iWARP: there was no file descriptor for a connection
  // Connections to an iWARP device: those among requests_received without RDMA, and those of a kind
  // that the listener does not serve.
  uint64_t iscsi_streams = 0;
  uint64_t plain_streams = 0;
  uint64_t refused_rdma = 0;
  uint64_t refused_iscsi = 0;
  uint64_t refused_plain = 0;
  uint64_t retransmissions = 0;
  uint64_t malformed = 0;
  uint64_t mads_received = 0;
  uint64_t mads_forwarded = 0;  // to other processes of this machine
};

struct DeviceCounters {
  PortCounters port = {};
  SocketCounters sockets = {};
  BudgetCounters budget = {};
  CmUseCounters cm = {};
  uint64_t progress_thread_wake_ups = 0;
  uint64_t events_lost = 0;
};

// One line per counter, "packets sent: 12\n"; counters that are 0 are left out.
[[nodiscard]] std::string ToString(const DeviceCounters& counters);

// The traffic of one queue pair.
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
  // Messages that an unreliable queue pair dropped.
  uint64_t dropped_out_of_sequence = 0;
  uint64_t dropped_no_receive = 0;
  uint64_t dropped_pages_absent = 0;
  uint64_t dropped_refused = 0;  // key, Q_Key, rights or length
};

}  // namespace verbena
