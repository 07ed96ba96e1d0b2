#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "adapter/port_map.h"
#include "base/time.h"
#include "fabric/endpoints.h"
#include "memory/options.h"
#include "wire/roce/types.h"

namespace verbena::adapter {

// Less would be gone with a few queue pairs that each need a message's pages at once.
inline constexpr uint64_t kMemoryBudgetMin = uint64_t{1} << 20;

// Every limit of an adapter with its default and its reason. A call that meets a limit fails with
// ErrorCode::kLimit and says in words which one it was; nothing has changed.
struct Options {
  // --- Objects. ---

  // A queue pair costs its rings and about 2 KiB; each 3,072 of them take a UDP port and a socket.
  uint32_t qps_max = 131'072;
  uint32_t cqs_max = 131'072;  // one a queue pair, if a program wants that
  uint32_t srqs_max = 4'096;
  uint32_t tags_max = 1'024;  // tagged receives of one queue, which a message may look at all of
  uint32_t xrc_domains_max = 1'024;
  uint32_t channels_max = 4'096;   // a file descriptor each
  uint32_t contexts_max = 16'384;  // likewise, for their asynchronous events
  uint32_t paths_max = 262'144;    // one a connected queue pair, one an address handle
  uint32_t multicast_groups_max = 256;
  uint32_t multicast_members_max = 256;  // of one group; each costs a copy of every datagram
  // Processes of one machine that can be in groups: a datagram to a group is sent once for each.
  uint32_t multicast_endpoints = fabric::kMulticastEndpoints;

  // --- Queues: what a program may ask for. Each element has its room allocated at once. ---

  uint32_t queue_depth_max = 32'768;
  uint32_t sges_max = 32;
  uint32_t inline_max = 1'024;         // bytes; beyond that a copy costs more than a translation
  uint32_t fast_register_pages = 512;  // of one registration by work request: 2 MiB of 4 KiB pages
  uint32_t completion_depth_max = 1U << 22;
  uint8_t reads_max = 128;  // and atomics, under way at once: a peer makes us keep as many answers

  // --- One step of the engine. ---

  // Packets that a queue pair may have in the outbox before they are staged. 4 KiB each are set
  // aside; more than a fabric's burst would not go out sooner.
  size_t outbox_packets = 64;
  // Queue pairs that run before the sockets are looked at again, so that one pass stays short.
  size_t runs_per_pass = 64;
  // Packets between queue pairs of this process that may be on their way: a power of two.
  size_t loopback_packets = 256;
  // When work is left, because the socket took no more or a poller went first: how soon to go on
  // with it if no thread polls.
  Duration work_retry = Microseconds(100);

  // --- Asynchronous events. ---

  // Of one context. A program that never looks at them loses the newest, which are counted.
  size_t events_max = 4'096;

  // --- The progress thread: see docs/threading.md. ---

  // A CQ counts as polled for this long after the last poll.
  Duration poll_recent = Microseconds(20);
  // The same while the poller has something to transmit.
  Duration pass_time = Microseconds(200);
  // A poller that has yielded its processor comes back within this time, unless another thread uses
  // up a time slice.
  Duration yield_recent = Milliseconds(1);
  // How long the progress thread leaves the sockets to a poller: it doubles from
  // one to the other as long as its looks are in vain.
  Duration backoff_min = Microseconds(50);
  Duration backoff_max = Milliseconds(1);
  // How long it looks for more after traffic, at most, before it sleeps; so do threads that wait
  // for an event. See SpinWait.
  Duration spin = Microseconds(80);

  // --- The pager. ---

  uint32_t pager_threads = 2;  // so that a slow file does not stop the faults on plain memory
  // With those that are started while pages do not come: of a file whose server does not answer, or
  // under a userfaultfd of the program's own. A thread costs some 20 KiB of memory. Faults beyond
  // that wait for one of them, and a note says so.
  uint32_t pager_threads_max = 64;
  // Bytes that one request brings at most. A longer one is told when these are there and asks
  // again, so that the first bytes need not wait for the last.
  uint64_t page_batch_max = uint64_t{64} << 20;

  // Whether regions are locked in memory from registration to deregistration, as other adapters do
  // it: no access ever waits for a page, and registration takes as long as bringing them all.
  bool pin = false;

  // Bytes of registered memory that may be in memory at a time, 0 for no limit: what the program
  // registers is adopted as managed memory where that is possible. At least kMemoryBudgetMin. What
  // does not fit is in `swap`, a directory or a file. See docs/managed.md.
  uint64_t memory_budget = 0;
  // Whether what cannot be under it is an error: the adapter is not opened where none can be, and
  // memory of 256 KiB and more that cannot be adopted is not registered.
  bool memory_budget_strict = false;
  std::string swap = "/tmp";

  // Told, on the thread of an arena, that its swap file is full, failing, or well again: the thread
  // that would ask for notes may be waiting for that arena. Also that the trace has ended early, on
  // the engine's thread, and that pager_threads_max is reached, on a pager thread. Must not wait
  // for the adapter.
  std::function<void(const std::string& warning)> on_urgent_warning = {};

  // Whether the system is asked to tell when the program gives pages up. Off, because programs
  // notice: giving up a page takes 40 times as long, a range of which a part is registered cannot
  // be moved by mremap, and a userfaultfd of their own is refused the memory. See docs/unpinned.md.
  bool page_events = false;

  // How often a part of what the tables call present is looked at, while the adapter is in use;
  // Duration::Max() for never. 128 MiB each time, so that 1 GiB takes a second.
  Duration residency_scan_period = Milliseconds(100);

  // --- The port. ---

  // The UDP ports of endpoints, which all that talk to each other compute from queue pair numbers:
  // endpoint 0 has base_port, endpoint n has endpoint_base_port + n.
  uint16_t base_port = wire::kRocePort;
  uint16_t endpoint_base_port = fabric::EndpointPorts{}.others;
  // Endpoints that processes of this machine may have: fewer where a firewall opens fewer ports.
  uint32_t endpoints_max = fabric::kEndpointsMax;
  // Always the base port, for peers that know no other; then one process per machine.
  bool strict = false;
  // Which endpoint and which queue pair numbers come first; 0 for random ones.
  uint64_t identity_seed = 0;
  // Without segmentation and receive offload, as on kernels that have none.
  bool plain_sockets = false;

  // A file that every packet is written to, as Wireshark reads it; none if empty.
  std::string trace = {};

  memory::Options memory = {};
};

[[nodiscard]] inline PortMap PortsOf(const Options& options) {
  return {.ports = {.first = options.base_port, .others = options.endpoint_base_port},
          .strict = options.strict,
          .multicast_endpoints = options.strict ? 1 : options.multicast_endpoints};
}

}  // namespace verbena::adapter
