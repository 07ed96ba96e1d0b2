#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace verbena {

// The longest scatter/gather list of any work request: a post keeps room for it on the stack.
inline constexpr uint32_t kSgesMax = 32;

// Every limit of a device with its default and its reason. A call that meets a limit fails with
// ErrorCode::kLimit and says in words which one it was.
struct Options {
  // --- Sharing. ---

  // Contexts of a process whose options are equal share one adapter: one endpoint on the network,
  // one progress thread, one set of limits. This asks for an adapter of the context's own, which
  // no other context gets: for a program that is several nodes at once, or whose threads should not
  // wait for each other's engine.
  bool dedicated_adapter = false;

  // --- Objects. ---

  uint32_t qps_max = 131'072;  // each 3,072 take a UDP port
  uint32_t cqs_max = 131'072;
  uint32_t srqs_max = 4'096;
  uint32_t tags_max = 1'024;  // tagged receives of one queue, which a message may look at all of
  uint32_t xrc_domains_max = 1'024;
  uint32_t channels_max = 4'096;   // a file descriptor each
  uint32_t contexts_max = 16'384;  // of one adapter; likewise
  uint32_t paths_max = 262'144;    // one a connected queue pair, one an address handle
  uint32_t multicast_groups_max = 256;
  uint32_t multicast_members_max = 256;  // of one group; each costs a copy of every datagram
  // Processes of one machine that can be in groups: a datagram to a group is sent once for each.
  uint32_t multicast_endpoints = 8;
  uint32_t domains_max = 1 << 16;
  uint32_t key_slots_max = 1 << 24;  // regions and windows together

  // --- Queues: what a program may ask for. Each element has its room allocated at once. ---

  uint32_t queue_depth_max = 32'768;
  uint32_t sges_max = kSgesMax;        // and not more
  uint32_t inline_max = 1'024;         // bytes
  uint32_t fast_register_pages = 512;  // of one registration by work request
  uint32_t completion_depth_max = 1U << 22;
  uint8_t reads_max = 128;  // and atomics, under way at once

  // --- One step of the engine. ---

  size_t outbox_packets = 64;     // of one queue pair at a time
  size_t runs_per_pass = 64;      // queue pairs that run before the sockets are looked at again
  size_t loopback_packets = 256;  // between queue pairs of this process: a power of two
  // When work waits for room in a socket or a table: how soon to try again, if no thread polls.
  std::chrono::nanoseconds work_retry = std::chrono::microseconds(100);

  size_t events_max = 4'096;  // asynchronous ones of a context that were not taken yet

  // --- The thread that works while the program does not. ---

  std::chrono::nanoseconds poll_recent = std::chrono::microseconds(20);
  std::chrono::nanoseconds backoff_min = std::chrono::microseconds(50);
  std::chrono::nanoseconds backoff_max = std::chrono::milliseconds(1);
  std::chrono::nanoseconds spin = std::chrono::microseconds(80);

  // --- Memory. ---

  uint32_t pager_threads = 2;
  uint32_t pager_threads_max = 64;  // with those that stand in for others whose pages do not come
  uint64_t page_batch_max = uint64_t{64} << 20;  // bytes that one request for pages brings at most
  // Whether regions are locked in memory while they are registered. Then no access waits for a
  // page, and registration takes as long as bringing them all; the memlock limit applies.
  bool pin = false;
  // Whether the system tells at once when the program gives up pages. It costs the program: see
  // docs/unpinned.md. Without it they are found gone when they are used, or looked at.
  bool page_events = false;
  // Bytes of registered memory that may be in memory at a time, at least 1 MiB; 0: no limit. What
  // the program registers is put under it where that is possible, and notes say where it is not:
  // see docs/managed.md. Not together with `pin`. A process has one budget: contexts share it, and
  // an adapter that would bring a second one is refused with kInUse.
  uint64_t memory_budget = 0;
  // Where that is not possible, an error instead of a note: the device is not opened where no
  // memory can be under the budget, and a region of 256 KiB or more that cannot be is not
  // registered.
  bool memory_budget_strict = false;
  // Where what does not fit is kept: a directory, or a file that is there, which serves one
  // region at a time.
  std::string swap = "/tmp";
  // Called on a thread of the device with warnings that cannot wait for TakeWarnings, because the
  // program may stand still: the swap file of managed memory is full, failing, or well again; or
  // because they are of no use late: the trace ended early. It must neither call the device nor
  // touch managed memory. Without it they are warnings like others. A plain function, because
  // contexts that name the same one share an adapter.
  void (*on_urgent_warning)(const std::string& warning) = nullptr;
  // How long a key that was given up is certain to be recognised as stale.
  std::chrono::nanoseconds key_quarantine = std::chrono::seconds(60);
  // Off: peers reach memory through windows only.
  bool remote_through_regions = true;

  // --- The port. ---

  // The UDP ports of endpoints, the same for all that talk to each other: endpoint 0 has base_port,
  // endpoint n has endpoint_base_port + n. See docs/fabric.md.
  uint16_t base_port = 4791;
  uint16_t endpoint_base_port = 61000;
  uint32_t endpoints_max = 4'096;  // of this machine: fewer where a firewall opens fewer ports
  // Always the base port, for peers that know no other; then one process per machine.
  bool strict = false;
  // Which endpoint and which queue pair numbers come first, for tests; 0: random ones.
  uint64_t identity_seed = 0;
  // Without segmentation and receive offload, as on kernels that have none.
  bool plain_sockets = false;

  // A file that every packet is appended to, sent or received, the short cut within a process
  // included, as pcapng, which Wireshark reads. Several devices may share one. If it
  // is empty, the one that the variable VERBENA_TRACE names in the environment; else none.
  std::string trace = {};

  friend bool operator==(const Options&, const Options&) = default;
};

}  // namespace verbena
