#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "adapter/iwarp_options.h"
#include "adapter/port_map.h"
#include "base/time.h"
#include "fabric/endpoints.h"
#include "memory/options.h"
#include "verbena/transport_type.h"
#include "wire/roce/types.h"

namespace verbena::adapter {

// A few queue pairs that each need the pages of a message at once would exhaust a smaller budget.
inline constexpr uint64_t kMemoryBudgetMin = uint64_t{1} << 20;

// The limits and settings of an adapter, each with its default and its reason. A call that exceeds
// a limit fails with ErrorCode::kLimit and a text that names the limit, and has no effect.
struct AdapterOptions {
  // --- Objects. ---

  // A queue pair costs its rings and about 2 KiB; every 3,072 take a UDP port and a socket.
  uint32_t qps_max = 131'072;
  uint32_t cqs_max = 131'072;  // enough for one per queue pair
  uint32_t srqs_max = 4'096;
  uint32_t tags_max = 1'024;  // tagged receives of one queue: a message may be matched with each
  uint32_t xrc_domains_max = 1'024;
  uint32_t channels_max = 4'096;   // a file descriptor each
  uint32_t contexts_max = 16'384;  // a file descriptor each, for the asynchronous events
  uint32_t paths_max = 262'144;    // one per connected queue pair and per address handle
  uint32_t multicast_groups_max = 256;
  uint32_t multicast_members_max = 256;  // of one group; each costs a copy of every datagram
  // Processes of one machine that can join groups: a datagram to a group is sent once to each.
  uint32_t multicast_endpoints = fabric::kMulticastEndpoints;

  // --- Queues: the most that a program may ask for. All elements are allocated at creation. ---

  uint32_t queue_depth_max = 32'768;
  uint32_t sges_max = 32;
  uint32_t inline_max = 1'024;         // bytes; copying more costs more than a translation
  uint32_t fast_register_pages = 512;  // of one registration by work request: 2 MiB of 4 KiB pages
  uint32_t completion_depth_max = 1U << 22;
  uint8_t reads_max = 128;  // outstanding reads and atomics; a responder keeps as many responses

  // --- One step of the engine. ---

  // Packets that a queue pair may have in the outbox before they are staged. Each has 4 KiB
  // allocated; with more than a fabric's burst, packets would not leave sooner.
  size_t outbox_packets = 64;
  // Queue pairs that run before the sockets are read again, so that a pass stays short.
  size_t runs_per_pass = 64;
  // Packets in flight between queue pairs of this process: a power of two.
  size_t loopback_packets = 256;
  // How soon to retry work that is left because the socket was full or a pass ended early for its
  // poller, if no thread polls.
  Duration work_retry = Microseconds(100);

  // --- Asynchronous events. ---

  // Events of one context that wait to be taken. Further ones are dropped and counted.
  size_t events_max = 4'096;

  // --- The progress thread: see docs/threading.md. ---

  // A CQ counts as polled for this long after the last poll.
  Duration poll_recent = Microseconds(50);
  // The same while the poller has something to transmit.
  Duration pass_time = Microseconds(200);
  // A poller that has yielded is expected back within this time: it comes back, unless another
  // thread uses up a time slice.
  Duration yield_recent = Milliseconds(1);
  // The back-off of the progress thread while the program polls: doubles from min to max as long as
  // its checks find no work.
  Duration backoff_min = Microseconds(50);
  Duration backoff_max = Milliseconds(1);
  // How long the progress thread, or a thread that waits for an event, spins at most before it
  // sleeps. See SpinWait.
  Duration spin = Microseconds(80);

  // --- The pager. ---

  uint32_t pager_threads = 2;  // so that a slow file does not delay faults on anonymous memory
  // Including the threads that are started while others wait for stuck pages: pages of a file whose
  // server does not answer, or under a userfaultfd of the program. A thread costs about 20 KiB.
  // When all are stuck, further faults wait for one of them, and a warning says so.
  uint32_t pager_threads_max = 64;
  // Bytes that one page request pages in at most. A work request that needs more goes on with these
  // and then requests the next, so that its first bytes need not wait for the last.
  uint64_t page_batch_max = uint64_t{64} << 20;

  // Whether regions are pinned (mlock) from registration to deregistration, as other adapters do
  // it: no access ever waits for a page, but registration has to page in the whole region.
  bool pin = false;

  // Bytes of registered memory that may be in memory at a time, at least kMemoryBudgetMin; 0: no
  // limit. Memory that the program registers is taken over as managed memory where that is
  // possible. Evicted granules are in `swap`, a directory or a file. See docs/managed.md.
  uint64_t memory_budget = 0;
  // Makes it an error if memory cannot be put under the budget: the adapter does not open if that
  // is impossible for all memory, and a region of 256 KiB or more that cannot be taken over is not
  // registered.
  bool memory_budget_strict = false;
  std::string swap = "/tmp";
  // Of a guest: what its budget is never below. All of its managed memory together must get along
  // with that. 0: no guest.
  uint64_t memory_floor = 0;

  // Called with warnings that cannot wait for TakeWarnings. On the thread of an arena: its swap
  // file is full, failing or working again; the thread that would call TakeWarnings may be waiting
  // for that arena. On a pager thread: pager_threads_max is reached. On the thread that runs the
  // engine: the trace has ended early; packets are lost or dropped; there is no file descriptor for
  // a connection of iWARP. Must not wait for the adapter.
  std::function<void(const std::string& warning)> on_urgent_warning = {};

  // Whether the kernel reports which pages the program gives up. Off, because it affects the
  // program: giving up a page takes 40 times as long, mremap cannot move a range of which a part is
  // registered, and the program cannot register the memory with a userfaultfd of its own. See
  // docs/unpinned.md.
  bool page_events = false;

  // How often the residency scan checks 128 MiB of what the tables mark present, while the adapter
  // is in use: 1 GiB takes a second. Duration::Max(): never.
  Duration residency_scan_period = Milliseconds(100);

  // --- The port. ---

  TransportType transport = TransportType::kRoce;
  IwarpOptions iwarp = {};  // of kIwarp

  // The UDP ports of endpoints: endpoint 0 has base_port, endpoint n has endpoint_base_port + n.
  // Peers compute the port from the queue pair number, so all of them must have the same two.
  uint16_t base_port = wire::kRocePort;
  uint16_t endpoint_base_port = fabric::EndpointPorts{}.others;
  // Endpoints that processes of this machine may have: fewer where a firewall opens fewer ports.
  uint32_t endpoints_max = fabric::kEndpointsMax;
  // Uses only base_port, for peers that are not Verbena. Only one process per machine can do so.
  bool strict = false;
  // Determines the first endpoint and queue pair numbers; 0: random.
  uint64_t identity_seed = 0;
  // Turns off segmentation and receive offload, as on kernels that have none.
  bool plain_sockets = false;

  // Whether management datagrams are served: connections by address (see Gsi).
  bool connection_manager = false;

  // A pcapng file, for Wireshark, to which every packet is appended; empty: none.
  std::string trace = {};

  memory::MemoryOptions memory = {};
};

[[nodiscard]] inline PortMap PortsOf(const AdapterOptions& options) {
  return {.ports = {.first = options.base_port, .others = options.endpoint_base_port},
          .strict = options.strict,
          .multicast_endpoints = options.strict ? 1 : options.multicast_endpoints};
}

}  // namespace verbena::adapter
