#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace verbena::sim {

// All that one seed decides about a run before it starts. Each kind of trouble is off in about half
// of the runs: what is everywhere hides what it covers, and a run without loss may demand more. All
// chances are out of 1000. A value type.
struct Swarm {
  [[nodiscard]] static Swarm Draw(uint64_t seed);

  uint64_t seed = 0;
  uint32_t endnodes = 2;
  bool one_machine = false;  // they are processes of one: nothing but ports tells them apart
  bool fixed_psn = false;    // all connections begin with the same, as with many programs
  uint32_t connections = 1;
  uint32_t uc_connections = 0;
  uint32_t ud_queue_pairs = 0;
  uint32_t groups = 0;         // for multicast
  uint32_t group_changes = 0;  // per turn, that a datagram queue pair joins a group or leaves it
  uint32_t xrc_connections = 0;
  uint32_t reactive_connections = 0;  // whose senders go on when a registration fails
  uint32_t tag_connections = 0;       // whose messages have tags
  uint32_t managed_connections = 0;   // to managed memory
  uint32_t operations = 0;            // posted in all
  uint32_t slots = 0;                 // buffers of a connection, on each side and of each kind
  uint32_t slot_bytes = 0;
  uint32_t key_slots_max = 4096;  // of an endnode's tables; not drawn

  uint32_t path_mtu = 1024;
  uint32_t depth = 1;  // reads and atomics under way
  uint32_t retry_count = 7;
  uint32_t rnr_retry = 7;
  Duration ack_timeout = Milliseconds(4);
  Duration rnr_timer = Microseconds(100);
  bool foreign = false;  // requesters do not know the mark of NAKs that are for absent pages
  bool shared_receives = false;
  uint32_t srq_limit = 0;       // per turn, that the limit event of a shared queue is asked for
  bool fills_on_limit = false;  // programs post to it when that event comes, and not before
  bool sleepers = false;  // programs look at a completion queue only when an event tells them to
  uint32_t cq_capacity = 256;  // of each completion queue
  uint32_t neglect = 0;        // per turn, that a program does not look at one of its for a while
  uint32_t dry = 0;            // that a receive queue is not filled up, per turn

  uint32_t loss = 0;
  uint32_t duplication = 0;
  uint32_t corruption = 0;
  uint32_t segments_max = 0;  // what leaves together is lost if it is more packets; 0: never
  uint32_t partition = 0;     // per turn, one direction between two endnodes
  uint32_t severance = 0;     // per turn, one connection is cut for good
  uint32_t hostile = 0;       // per turn, a forged packet, the sequence number far off
  uint32_t attack = 0;        // per turn, a forged packet with the right sequence number
  Duration delay = Microseconds(5);
  Duration jitter{};

  uint32_t eviction = 0;    // per turn, a page
  bool has_spared = false;  // but never of the first connection
  Duration page_in_max = Microseconds(100);
  uint32_t page_in_failure = 0;
  Duration page_service_estimate = Milliseconds(1);

  uint32_t managed_pages = 0;   // of memory that has a budget and a swap file...
  uint32_t budget_pages = 0;    // ...of which so many may be in memory
  uint32_t managed_offset = 0;  // of the first slot in its page
  Duration store_latency = Microseconds(100);
  uint32_t store_failures = 0;    // per write to the swap file; of reads a quarter
  uint32_t store_outages = 0;     // per turn, that all writes fail for a while
  uint32_t store_corruption = 0;  // per read
  uint32_t budget_changes = 0;    // per turn
  uint32_t discards = 0;          // per turn, contents are given up

  uint32_t granted_keys_max = 0;  // windows and regions of its own that a side lends its peer
  uint32_t granted_keys = 0;      // per operation, that it goes through one
  uint32_t registration = 0;      // per granted key, that it is a region and not a window
  uint32_t one_touch = 0;         // per granted key
  uint32_t invalidation = 0;      // per turn, of a key that may be in use
  uint32_t swap = 0;              // per turn, a region is taken out and given back later
  uint32_t deregistration = 0;    // per turn, of memory that may be in use
  uint32_t unmapping = 0;         // per turn, of memory that may be in use
  uint32_t illegal = 0;           // per operation
  uint32_t crash = 0;             // per turn, of an endnode, which starts again at once
  uint32_t drain = 0;             // per turn, a send queue is drained, and then goes on

  // Packets reach the other side once, in order, and untouched.
  [[nodiscard]] bool link_is_perfect() const { return segments_max == 0 && single_is_safe(); }
  // They do, if they leave as datagrams of their own.
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
