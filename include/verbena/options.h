#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "verbena/transport_type.h"

namespace verbena {

// The longest scatter/gather list of any work request: a post keeps room for it on the stack.
inline constexpr uint32_t kSgesMax = 32;

// The limits and settings of a device, each with its default. A call that exceeds a limit fails
// with ErrorCode::kLimit, and the message names the limit.
struct Options {
  // --- Sharing. ---

  // Contexts of a process with equal options share one adapter: one endpoint on the network, one
  // progress thread, one set of limits. If this is set, the context has an adapter of its own: for
  // a program that acts as several nodes, or whose threads should not wait for each other's engine.
  bool dedicated_adapter = false;

  // --- Objects. ---

  uint32_t qps_max = 131'072;  // every 3,072 take a UDP port
  uint32_t cqs_max = 131'072;
  uint32_t srqs_max = 4'096;
  uint32_t tags_max = 1'024;  // tagged receives of one queue: a message may be matched with each
  uint32_t xrc_domains_max = 1'024;
  uint32_t channels_max = 4'096;   // a file descriptor each
  uint32_t contexts_max = 16'384;  // of one adapter: a file descriptor each
  uint32_t paths_max = 262'144;    // one per connected queue pair and per address handle
  uint32_t multicast_groups_max = 256;
  uint32_t multicast_members_max = 256;  // of one group; each costs a copy of every datagram
  // Processes of one machine that can join groups: a datagram to a group is sent once to each.
  uint32_t multicast_endpoints = 8;
  uint32_t domains_max = 1 << 16;
  uint32_t key_slots_max = 1 << 24;  // regions and windows together

  // --- Queues: the most that a program may ask for. All elements are allocated at creation. ---

  uint32_t queue_depth_max = 32'768;
  uint32_t sges_max = kSgesMax;        // can be lowered only
  uint32_t inline_max = 1'024;         // bytes
  uint32_t fast_register_pages = 512;  // per registration by work request
  uint32_t completion_depth_max = 1U << 22;
  uint8_t reads_max = 128;  // reads and atomics that are outstanding at a time

  // --- One step of the engine. ---

  size_t outbox_packets = 64;     // that one queue pair sends in a step
  size_t runs_per_pass = 64;      // queue pairs that run before the sockets are read again
  size_t loopback_packets = 256;  // in flight within this process: a power of two
  // How soon to retry work that waits for room in a socket or a table, if no thread polls.
  std::chrono::nanoseconds work_retry = std::chrono::microseconds(100);

  size_t events_max = 4'096;  // asynchronous events of a context that wait to be taken

  // --- The progress thread: see docs/threading.md. ---

  // A completion queue counts as polled for this long after the last poll.
  std::chrono::nanoseconds poll_recent = std::chrono::microseconds(50);
  // The back-off of the progress thread while the program polls: doubles from min to max.
  std::chrono::nanoseconds backoff_min = std::chrono::microseconds(50);
  std::chrono::nanoseconds backoff_max = std::chrono::milliseconds(1);
  // How long the progress thread, or a thread that waits for an event, spins before it sleeps.
  std::chrono::nanoseconds spin = std::chrono::microseconds(80);

  // --- Memory. ---

  uint32_t pager_threads = 2;
  uint32_t pager_threads_max = 64;  // including those started while others wait for stuck pages
  uint64_t page_batch_max = uint64_t{64} << 20;  // bytes that one page request pages in at most
  // Whether regions are pinned (mlock) while they are registered. Then no access page-faults, but
  // registration has to page in the whole region, and the memlock limit applies.
  bool pin = false;
  // Whether the kernel reports at once which pages the program gives up. That slows the program
  // down: see docs/unpinned.md. Without it, the adapter finds out when it accesses or scans them.
  bool page_events = false;
  // Bytes of registered memory that may be in memory at a time, at least 1 MiB; 0: no limit.
  // Regions are put under the budget where that is possible, and warnings say where it is not: see
  // docs/managed.md. Not together with `pin`. A process has one budget: contexts share it, and an
  // adapter that would bring a second one is refused with kInUse.
  uint64_t memory_budget = 0;
  // Makes it an error if memory cannot be put under the budget: the device does not open if that is
  // impossible for all memory, and a region of 256 KiB or more for which it is impossible is not
  // registered.
  bool memory_budget_strict = false;
  // Makes the process a guest of this name: the broker at the socket `broker` decides how much of
  // its registered and managed memory is in memory (docs/guests.md). As with `memory_budget`, which
  // must be 0 then, memory that the program registers is put under the budget where possible. The
  // device does not open if no broker answers, or it refuses.
  std::string guest = {};
  uint64_t guest_min = uint64_t{4} << 20;  // bytes that it can always have, at least 64 KiB
  uint64_t guest_max = UINT64_MAX;         // bytes that it never exceeds
  uint32_t guest_weight = 100;             // its part of what is scarce, compared with other guests
  std::string broker = {};  // empty: $XDG_RUNTIME_DIR/verbena/broker.sock, root's in /run
  // Where evicted pages are kept: a directory, or an existing file, which serves one region at a
  // time.
  std::string swap = "/tmp";
  // Called with warnings that cannot wait for TakeWarnings. Some because the program may hang: the
  // swap file is full, failing or working again; all pager threads wait for pages. Others because
  // they are of no use late: the trace ended early; packets are lost or dropped; there is no file
  // descriptor for a connection of iWARP. Runs on a thread of the device, or of the program while
  // it makes the adapter's progress; must neither call the device nor touch managed memory. Without
  // it, TakeWarnings returns these warnings, too. A plain function pointer, because contexts that
  // name the same one share an adapter.
  void (*on_urgent_warning)(const std::string& warning) = nullptr;
  // How long a key is certain to be refused after it was given up.
  std::chrono::nanoseconds key_quarantine = std::chrono::seconds(60);
  // If off, peers can access memory through windows only.
  bool remote_through_regions = true;

  // --- The port. ---

  // An iWARP device has queue pairs of type RC, which CmId connects and moves to RTS
  // (docs/iwarp.md).
  TransportType transport = TransportType::kRoce;
  // Of iWARP: how a connection is set up. The revision of MPA that requests have (1 or 2; requests
  // of peers may have either), and whether the segments have a CRC: without it they have one only
  // if the peer wants it.
  uint8_t mpa_revision = 2;
  bool mpa_crc = true;

  // The UDP ports of endpoints: endpoint 0 has base_port, endpoint n has endpoint_base_port + n.
  // All processes that talk to each other must have the same two. See docs/fabric.md.
  uint16_t base_port = 4791;
  uint16_t endpoint_base_port = 61000;
  uint32_t endpoints_max = 4'096;  // of this machine: fewer where a firewall opens fewer ports
  // Uses only base_port, for peers that are not Verbena. Only one process per machine can do so.
  bool strict = false;
  // Determines the first endpoint and QP numbers, for tests; 0: random.
  uint64_t identity_seed = 0;
  // Turns off segmentation and receive offload, as on kernels that have none.
  bool plain_sockets = false;

  // A pcapng file, for Wireshark, to which every packet that is sent or received is appended,
  // including loopback within the process. Several devices may share one. If empty, the environment
  // variable VERBENA_TRACE names the file; without that, there is no trace.
  std::string trace = {};

  friend bool operator==(const Options&, const Options&) = default;
};

}  // namespace verbena
