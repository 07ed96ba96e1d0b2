#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace verbena::sim {

// What the registration cache of a program hears of memory that is given up.
enum class CacheKind : uint8_t {
  kEvents,     // a userfaultfd reports it
  kAnnounces,  // the program announces it
  kNothing,    // nothing: it keeps nothing
  kOff,        // it releases immediately
};

// Everything that one seed decides about a run before it starts. Each kind of fault is off in about
// half of the runs: a fault that is always on would hide others, and a run without loss allows
// stricter checks. All probabilities are out of 1000. A value type.
struct Swarm {
  [[nodiscard]] static Swarm Draw(uint64_t seed);
  // The same, and managed memory is that of guests of a hypervisor, in half of the runs that have
  // managed memory.
  [[nodiscard]] static Swarm DrawWithGuests(uint64_t seed);

  // The same, and programs that register a buffer for each operation, through the registration
  // cache. No endnode crashes.
  [[nodiscard]] static Swarm DrawWithCache(uint64_t seed);

  uint64_t seed = 0;
  uint32_t endnodes = 2;
  bool one_machine = false;  // all endnodes are processes of one machine: only ports differ
  bool fixed_psn = false;    // all connections begin with the same PSN, as many programs do
  uint32_t connections = 1;
  uint32_t uc_connections = 0;
  uint32_t ud_queue_pairs = 0;
  uint32_t groups = 0;         // for multicast
  uint32_t group_changes = 0;  // per step: a datagram queue pair joins or leaves a group
  uint32_t xrc_connections = 0;
  uint32_t reactive_connections = 0;  // whose senders continue after a failed registration
  uint32_t tag_connections = 0;       // whose messages have tags
  uint32_t managed_connections = 0;   // to managed memory
  uint32_t cached_connections = 0;    // whose programs register through the registration cache
  uint32_t operations = 0;            // in total
  uint32_t slots = 0;                 // buffers per connection, side and kind
  uint32_t slot_bytes = 0;
  uint32_t key_slots_max = 4096;  // not drawn

  uint32_t path_mtu = 1024;
  uint32_t depth = 1;  // outstanding reads and atomics
  uint32_t retry_count = 7;
  uint32_t rnr_retry = 7;
  Duration ack_timeout = Milliseconds(4);
  Duration rnr_timer = Microseconds(100);
  bool foreign = false;  // requesters do not know the mark of NAKs for absent pages
  bool shared_receives = false;
  uint32_t srq_limit = 0;       // per step: the limit event of a shared queue is armed
  bool fills_on_limit = false;  // programs post to it only at that event
  bool sleepers = false;        // programs poll a completion queue only after an event
  uint32_t cq_capacity = 256;   // of each completion queue
  uint32_t neglect = 0;         // per step: a program does not poll a queue for a while
  uint32_t dry = 0;             // per step: a receive queue is not filled

  uint32_t loss = 0;
  uint32_t duplication = 0;
  uint32_t corruption = 0;
  uint32_t segments_max = 0;  // a message of more segments is lost; 0: never
  uint32_t partition = 0;     // per step: one direction between two endnodes
  uint32_t severance = 0;     // per step: one connection is cut for good
  uint32_t hostile = 0;       // per step: a forged packet with a wrong sequence number
  uint32_t attack = 0;        // per step: a forged packet with the right sequence number
  Duration delay = Microseconds(5);
  Duration jitter{};

  uint32_t eviction = 0;    // per step: a page
  bool has_spared = false;  // except of the first connection
  Duration page_in_max = Microseconds(100);
  uint32_t page_in_failure = 0;
  uint32_t resident = 0;  // per request: the pages are in memory, and present at once
  Duration page_service_estimate = Milliseconds(1);

  uint32_t managed_pages = 0;   // pages with a budget and a swap file...
  uint32_t budget_pages = 0;    // ...of which this many may be in memory
  uint32_t managed_offset = 0;  // of the first slot in its page
  Duration store_latency = Microseconds(100);
  uint32_t store_failures = 0;    // per write to the swap file; a quarter of it per read
  uint32_t store_outages = 0;     // per step: all writes fail for a while
  uint32_t store_corruption = 0;  // per read
  uint32_t budget_changes = 0;    // per step
  uint32_t discards = 0;          // per step: contents are discarded
  uint32_t quiesces = 0;          // per step: the host takes the memory away, until later

  uint32_t guests = 0;            // endnodes with managed memory under one hypervisor; 0: none...
  uint32_t pressure_guests = 0;   // ...guests without an adapter...
  uint32_t pressure_crashes = 0;  // ...per step: one of these ends, and another begins...
  uint32_t broker_crashes = 0;    // ...per step...
  uint32_t hypervisor_pages = 0;  // ...and the budget of all

  CacheKind cache_kind = CacheKind::kEvents;
  bool cache_exclusive = false;    // CacheOptions::exclusive
  bool cache_keeps_keys = false;   // R_Keys stay valid after their release
  bool cache_rekeys = true;        // the adapter can change keys in place
  uint32_t cache_pages = 16;       // of a program
  uint32_t cache_entries = 8;      // registrations at a time
  uint32_t cache_bytes_pages = 8;  // registered pages at a time, of those that are not in use
  uint32_t remaps = 0;             // per step and registration: the program gives pages up

  uint32_t granted_keys_max = 0;  // windows and own regions that a side grants its peer
  uint32_t granted_keys = 0;      // per operation: uses such a key
  uint32_t registration = 0;      // per granted key: a region instead of a window
  uint32_t one_touch = 0;         // per granted key
  uint32_t invalidation = 0;      // per step: a key that may be in use
  uint32_t swap = 0;              // per step: a region is swapped out and in again later
  uint32_t deregistration = 0;    // per step: memory that may be in use
  uint32_t unmapping = 0;         // per step: memory that may be in use
  uint32_t illegal = 0;           // per operation
  uint32_t crash = 0;             // per step: an endnode, which restarts at once
  uint32_t drain = 0;             // per step: a send queue is drained and resumed

  // Packets arrive once, in order, and unchanged.
  [[nodiscard]] bool link_is_perfect() const { return segments_max == 0 && single_is_safe(); }
  // The same, for packets that leave as single datagrams.
  [[nodiscard]] bool single_is_safe() const {
    return loss == 0 && duplication == 0 && corruption == 0 && partition == 0 && hostile == 0 &&
           attack == 0 && jitter == Duration();
  }

  [[nodiscard]] bool store_may_fail() const {
    return store_failures > 0 || store_outages > 0 || store_corruption > 0;
  }

  // One line per option, name=value.
  [[nodiscard]] std::string ToString() const;
};

}  // namespace verbena::sim
