#include "sim/swarm.h"

#include <algorithm>
#include <iterator>

#include "base/random.h"
#include "paging/options.h"
#include "sim/draw.h"
#include "wire/roce/timer_codes.h"

namespace verbena::sim {
namespace {

void DrawConnection(Random& random, Swarm& swarm) {
  swarm.path_mtu = uint32_t{256} << random.Below(5);
  swarm.depth = static_cast<uint32_t>(1 + random.Below(8));
  swarm.retry_count = static_cast<uint32_t>(random.Chance(1, 4) ? random.Below(8) : 7);
  swarm.rnr_retry = static_cast<uint32_t>(random.Chance(1, 3) ? random.Below(7) : 7);
  // About 1 to 16 ms.
  swarm.ack_timeout = DurationOf(wire::AckTimeout(static_cast<uint8_t>(8 + random.Below(5))));
  swarm.rnr_timer = UpTo(random, 500);
  swarm.shared_receives = random.Chance(1, 3);
  swarm.dry = Trouble(random, 900);
}

void DrawNetwork(Random& random, Swarm& swarm) {
  const bool perfect = random.Chance(1, 3);
  swarm.delay = UpTo(random, 20);
  if (perfect) return;
  swarm.loss = Trouble(random, 150);
  swarm.duplication = Trouble(random, 150);
  swarm.corruption = Trouble(random, 30);
  swarm.partition = Trouble(random, 3);
  swarm.hostile = Trouble(random, 100);
  swarm.attack = random.Chance(1, 5) ? Trouble(random, 20) : 0;
  if (random.Chance(1, 2)) swarm.jitter = UpTo(random, 50);
}

void DrawMemory(Random& random, Swarm& swarm) {
  swarm.eviction = Trouble(random, 1000);
  swarm.page_in_max = random.Chance(1, 4) ? UpTo(random, 20'000) : UpTo(random, 300);
  swarm.page_in_failure = random.Chance(1, 6) ? Trouble(random, 20) : 0;
  swarm.page_service_estimate = random.Chance(1, 3) ? Milliseconds(200) : UpTo(random, 2000);
  swarm.granted_keys_max = static_cast<uint32_t>(1 + random.Below(6));
  swarm.granted_keys = random.Chance(1, 3) ? 0 : static_cast<uint32_t>(random.Between(50, 700));
  swarm.registration = random.Chance(1, 3) ? 0 : static_cast<uint32_t>(random.Between(100, 900));
  swarm.one_touch = Trouble(random, 600);
  swarm.invalidation = random.Chance(1, 2) ? Trouble(random, 20) : 0;
  swarm.swap = random.Chance(1, 3) ? Trouble(random, 5) : 0;
  swarm.deregistration = random.Chance(1, 6) ? Trouble(random, 5) : 0;
  swarm.unmapping = random.Chance(1, 6) ? Trouble(random, 5) : 0;
  swarm.illegal = random.Chance(1, 2) ? Trouble(random, 30) : 0;
  swarm.crash = random.Chance(1, 5) ? Trouble(random, 2) : 0;
}

void DrawSharedReceives(Random& random, Swarm& swarm) {
  if (!swarm.shared_receives) return;
  swarm.srq_limit = Trouble(random, 300);
  swarm.fills_on_limit = swarm.srq_limit > 0 && random.Chance(1, 2);
  // Messages arrive before the event is taken.
  if (swarm.fills_on_limit) swarm.dry = std::max(swarm.dry, 1u);
}

// Completion queues that are too small while their programs do not poll.
void DrawOverflows(Random& random, Swarm& swarm) {
  swarm.cq_capacity = uint32_t{4} << random.Below(4);
  swarm.neglect = static_cast<uint32_t>(random.Below(40));
}

// Groups, and enough datagram queue pairs for them: several on some endnodes.
void DrawMulticast(Random& random, Swarm& swarm) {
  swarm.groups = static_cast<uint32_t>(1 + random.Below(2));
  swarm.group_changes = Trouble(random, 50);
  swarm.ud_queue_pairs += static_cast<uint32_t>(3 + random.Below(4));
}

// Memory that is larger than its budget, and the swap file.
void DrawManaged(Random& random, Swarm& swarm) {
  swarm.managed_connections = static_cast<uint32_t>(1 + random.Below(3));
  swarm.budget_pages = static_cast<uint32_t>(random.Between(paging::kBudgetMin, 32));
  swarm.managed_pages = swarm.budget_pages + static_cast<uint32_t>(random.Between(4, 48));
  swarm.managed_offset = static_cast<uint32_t>(random.Chance(1, 2) ? random.Below(4096) : 0);
  swarm.store_latency = UpTo(random, random.Chance(1, 4) ? 2'000 : 200);
  swarm.store_failures = random.Chance(1, 2) ? Trouble(random, 100) : 0;
  swarm.store_outages = random.Chance(1, 2) ? Trouble(random, 5) : 0;
  swarm.store_corruption = random.Chance(1, 3) ? Trouble(random, 300) : 0;
  swarm.budget_changes = Trouble(random, 10);
  swarm.discards = Trouble(random, 50);
  swarm.quiesces = Trouble(random, 20);
}

// Managed memory of several endnodes, as that of guests whose budgets change all the time. Their
// swap files work: what a hypervisor does to a guest that cannot obey is not simulated here.
void DrawGuests(Random& random, Swarm& swarm) {
  constexpr uint32_t kMin = 2 * paging::kBudgetMin;  // of a guest
  swarm.guests = static_cast<uint32_t>(1 + random.Below(swarm.endnodes));
  swarm.managed_connections = std::max(swarm.managed_connections, swarm.guests);
  swarm.pressure_guests = static_cast<uint32_t>(random.Below(3));
  swarm.pressure_crashes = Trouble(random, 3);
  swarm.broker_crashes = Trouble(random, 2);
  const uint32_t least = kMin * (swarm.guests + swarm.pressure_guests + 1);
  swarm.hypervisor_pages = least + static_cast<uint32_t>(random.Below(64));
  swarm.managed_pages = kMin + static_cast<uint32_t>(random.Between(4, 64));
  swarm.budget_changes = 0;
  swarm.store_failures = swarm.store_outages = swarm.store_corruption = 0;
}

// Few pages and many operations, so that the same bytes are met again, in small tables.
void DrawCached(Random& random, Swarm& swarm) {
  constexpr CacheKind kKinds[] = {CacheKind::kEvents,    CacheKind::kEvents,  CacheKind::kEvents,
                                  CacheKind::kEvents,    CacheKind::kEvents,  CacheKind::kAnnounces,
                                  CacheKind::kAnnounces, CacheKind::kNothing, CacheKind::kOff};
  swarm.cached_connections = static_cast<uint32_t>(1 + random.Below(3));
  swarm.cache_kind = kKinds[random.Below(std::size(kKinds))];
  swarm.cache_exclusive = random.Chance(1, 4);
  swarm.cache_keeps_keys = random.Chance(1, 3);
  swarm.cache_rekeys = random.Chance(3, 4);
  swarm.cache_pages = static_cast<uint32_t>(random.Between(6, 24));
  swarm.cache_entries = static_cast<uint32_t>(random.Between(2, 24));
  swarm.cache_bytes_pages = static_cast<uint32_t>(random.Between(4, 32));
  swarm.remaps = random.Chance(1, 8) ? 0 : static_cast<uint32_t>(random.Between(20, 400));
}

// One connection must not be affected by the faults of the others.
void Spare(Random& random, Swarm& swarm) {
  swarm.has_spared = true;
  swarm.connections = std::max(swarm.connections, 2u);
  swarm.shared_receives = false;
  swarm.dry = 0;
  swarm.loss = swarm.duplication = swarm.corruption = swarm.partition = 0;
  swarm.hostile = swarm.attack = swarm.crash = 0;
  swarm.jitter = Duration();
  swarm.eviction = static_cast<uint32_t>(500 + random.Below(500));
  swarm.page_in_max = Milliseconds(20);
}

}  // namespace

Swarm Swarm::Draw(uint64_t seed) {
  Random random(seed);
  Swarm swarm;
  swarm.seed = seed;
  swarm.endnodes = static_cast<uint32_t>(2 + random.Below(3));
  swarm.connections = static_cast<uint32_t>(1 + random.Below(4));
  swarm.operations = static_cast<uint32_t>(50 + random.Below(350));
  swarm.slots = static_cast<uint32_t>(4 + random.Below(13));
  swarm.slot_bytes = uint32_t{512} << random.Below(5);
  DrawConnection(random, swarm);
  DrawNetwork(random, swarm);
  DrawMemory(random, swarm);
  swarm.severance = random.Chance(1, 6) ? Trouble(random, 3) : 0;
  if (random.Chance(1, 10)) Spare(random, swarm);
  if (random.Chance(1, 2)) swarm.uc_connections = static_cast<uint32_t>(random.Below(3));
  if (random.Chance(1, 2)) swarm.ud_queue_pairs = static_cast<uint32_t>(random.Below(4));
  swarm.one_machine = random.Chance(1, 2);
  swarm.fixed_psn = random.Chance(1, 3);
  swarm.foreign = random.Chance(1, 4);
  swarm.sleepers = random.Chance(1, 2);
  swarm.drain = random.Chance(1, 3) ? Trouble(random, 10) : 0;
  if (!swarm.has_spared && random.Chance(1, 4)) {
    swarm.segments_max = static_cast<uint32_t>(1 + random.Below(4));
  }
  DrawSharedReceives(random, swarm);
  if (!swarm.has_spared && random.Chance(1, 5)) DrawOverflows(random, swarm);
  if (random.Chance(1, 3)) swarm.xrc_connections = static_cast<uint32_t>(1 + random.Below(3));
  // Packets to a dead queue pair of one kind of reliable connection cannot be distinguished from
  // those of another.
  if (swarm.crash == 0 && random.Chance(1, 3)) swarm.reactive_connections = 1;
  if (random.Chance(1, 4)) DrawMulticast(random, swarm);
  if (swarm.crash == 0 && random.Chance(1, 4)) {
    swarm.tag_connections = static_cast<uint32_t>(1 + random.Below(3));
  }
  if (swarm.crash == 0 && random.Chance(1, 4)) DrawManaged(random, swarm);
  if (random.Chance(1, 2)) swarm.resident = Trouble(random, 900);
  return swarm;
}

Swarm Swarm::DrawWithGuests(uint64_t seed) {
  constexpr uint64_t kStream = 0x6E57;  // other draws are those of Draw
  Random random(seed ^ kStream);
  Swarm swarm = Draw(seed);
  if (swarm.managed_connections > 0 && random.Chance(1, 2)) DrawGuests(random, swarm);
  return swarm;
}

Swarm Swarm::DrawWithCache(uint64_t seed) {
  constexpr uint64_t kStream = 0xCAC4E;  // other draws are those of Draw
  Random random(seed ^ kStream);
  Swarm swarm = Draw(seed);
  swarm.crash = 0;  // see reactive_connections in Draw
  DrawCached(random, swarm);
  return swarm;
}

std::string Swarm::ToString() const {
  std::string text;
  Line(text, "seed", seed);
  Line(text, "endnodes", endnodes);
  Line(text, "one_machine", one_machine ? 1 : 0);
  Line(text, "fixed_psn", fixed_psn ? 1 : 0);
  Line(text, "connections", connections);
  Line(text, "uc_connections", uc_connections);
  Line(text, "ud_queue_pairs", ud_queue_pairs);
  Line(text, "groups", groups);
  Line(text, "group_changes", group_changes);
  Line(text, "xrc_connections", xrc_connections);
  Line(text, "reactive_connections", reactive_connections);
  Line(text, "tag_connections", tag_connections);
  Line(text, "managed_connections", managed_connections);
  Line(text, "cached_connections", cached_connections);
  Line(text, "operations", operations);
  Line(text, "slots", slots);
  Line(text, "slot_bytes", slot_bytes);
  Line(text, "path_mtu", path_mtu);
  Line(text, "depth", depth);
  Line(text, "retry_count", retry_count);
  Line(text, "rnr_retry", rnr_retry);
  Line(text, "ack_timeout", ack_timeout);
  Line(text, "rnr_timer", rnr_timer);
  Line(text, "foreign", foreign ? 1 : 0);
  Line(text, "sleepers", sleepers ? 1 : 0);
  Line(text, "drain", drain);
  Line(text, "shared_receives", shared_receives ? 1 : 0);
  Line(text, "srq_limit", srq_limit);
  Line(text, "fills_on_limit", fills_on_limit ? 1 : 0);
  Line(text, "cq_capacity", cq_capacity);
  Line(text, "neglect", neglect);
  Line(text, "dry", dry);
  Line(text, "loss", loss);
  Line(text, "duplication", duplication);
  Line(text, "corruption", corruption);
  Line(text, "segments_max", segments_max);
  Line(text, "partition", partition);
  Line(text, "severance", severance);
  Line(text, "hostile", hostile);
  Line(text, "attack", attack);
  Line(text, "delay", delay);
  Line(text, "jitter", jitter);
  Line(text, "eviction", eviction);
  Line(text, "has_spared", has_spared ? 1 : 0);
  Line(text, "page_in_max", page_in_max);
  Line(text, "page_in_failure", page_in_failure);
  Line(text, "resident", resident);
  Line(text, "page_service_estimate", page_service_estimate);
  Line(text, "guests", guests);
  Line(text, "pressure_guests", pressure_guests);
  Line(text, "pressure_crashes", pressure_crashes);
  Line(text, "broker_crashes", broker_crashes);
  Line(text, "hypervisor_pages", hypervisor_pages);
  Line(text, "managed_pages", managed_pages);
  Line(text, "budget_pages", budget_pages);
  Line(text, "managed_offset", managed_offset);
  Line(text, "store_latency", store_latency);
  Line(text, "store_failures", store_failures);
  Line(text, "store_outages", store_outages);
  Line(text, "store_corruption", store_corruption);
  Line(text, "budget_changes", budget_changes);
  Line(text, "discards", discards);
  Line(text, "quiesces", quiesces);
  Line(text, "cache_kind", static_cast<uint64_t>(cache_kind));
  Line(text, "cache_exclusive", cache_exclusive ? 1 : 0);
  Line(text, "cache_keeps_keys", cache_keeps_keys ? 1 : 0);
  Line(text, "cache_rekeys", cache_rekeys ? 1 : 0);
  Line(text, "cache_pages", cache_pages);
  Line(text, "cache_entries", cache_entries);
  Line(text, "cache_bytes_pages", cache_bytes_pages);
  Line(text, "remaps", remaps);
  Line(text, "granted_keys_max", granted_keys_max);
  Line(text, "granted_keys", granted_keys);
  Line(text, "registration", registration);
  Line(text, "one_touch", one_touch);
  Line(text, "invalidation", invalidation);
  Line(text, "swap", swap);
  Line(text, "deregistration", deregistration);
  Line(text, "unmapping", unmapping);
  Line(text, "illegal", illegal);
  Line(text, "crash", crash);
  return text;
}

}  // namespace verbena::sim
