#pragma once

#include <cstdint>

#include "adapter/iwarp_options.h"
#include "adapter/port_map.h"
#include "base/time.h"
#include "memory/options.h"
#include "verbena/options.h"

namespace verbena::adapter {

// A few queue pairs that each need the pages of a message at once would exhaust a smaller budget.
inline constexpr uint64_t kMemoryBudgetMin = uint64_t{1} << 20;

// The options of a device, and what only the layers above the adapter and the tests set.
struct AdapterOptions : Options {
  // --- The progress thread: see docs/threading.md. ---

  // A CQ counts as polled for this long after the last poll while the poller has something to
  // transmit, instead of for poll_recent.
  Duration pass_time = Microseconds(200);
  // A poller that has yielded is expected back within this time: it comes back, unless another
  // thread uses up a time slice.
  Duration yield_recent = Milliseconds(1);

  // --- Memory. ---

  // How often the residency scan checks 128 MiB of what the tables mark present, while the adapter
  // is in use: 1 GiB takes a second. Duration::Max(): never.
  Duration residency_scan_period = Milliseconds(100);
  // Of a guest: what its budget is never below. All of its managed memory together must get along
  // with that. 0: no guest.
  uint64_t memory_floor = 0;
  uint64_t key_seed = 1;  // of random keys

  // --- The port. ---

  IwarpOptions iwarp = {};  // see IwarpOptionsOf
  // Whether management datagrams are served: connections by address (see Gsi).
  bool connection_manager = false;
};

[[nodiscard]] inline PortMap PortsOf(const AdapterOptions& options) {
  return {.ports = {.first = options.base_port, .others = options.endpoint_base_port},
          .strict = options.strict,
          .multicast_endpoints = options.strict ? 1 : options.multicast_endpoints};
}

[[nodiscard]] inline memory::MemoryOptions MemoryOptionsOf(const AdapterOptions& options) {
  return {.key_slots_max = options.key_slots_max,
          .key_quarantine = DurationOf(options.key_quarantine),
          .domains_max = options.domains_max,
          .remote_through_regions = options.remote_through_regions,
          .seed = options.key_seed};
}

[[nodiscard]] inline IwarpOptions IwarpOptionsOf(const AdapterOptions& options) {
  IwarpOptions iwarp = options.iwarp;
  iwarp.mpa_revision = options.mpa_revision;
  iwarp.mpa_crc = options.mpa_crc;
  return iwarp;
}

}  // namespace verbena::adapter
