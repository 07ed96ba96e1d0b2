#include "verbs/options.h"

#include <algorithm>

#include "verbs/convert.h"

namespace verbena::verbs {

adapter::AdapterOptions ToAdapter(const Options& options) {
  adapter::AdapterOptions to;
  to.qps_max = options.qps_max;
  to.cqs_max = options.cqs_max;
  to.srqs_max = options.srqs_max;
  to.tags_max = options.tags_max;
  to.xrc_domains_max = options.xrc_domains_max;
  to.channels_max = options.channels_max;
  to.contexts_max = options.contexts_max;
  to.paths_max = options.paths_max;
  to.multicast_groups_max = options.multicast_groups_max;
  to.multicast_members_max = options.multicast_members_max;
  to.multicast_endpoints = options.multicast_endpoints;
  to.memory.domains_max = options.domains_max;
  to.memory.key_slots_max = options.key_slots_max;
  to.queue_depth_max = options.queue_depth_max;
  to.sges_max = options.sges_max;
  to.inline_max = options.inline_max;
  to.fast_register_pages = options.fast_register_pages;
  to.completion_depth_max = options.completion_depth_max;
  to.reads_max = options.reads_max;
  to.outbox_packets = options.outbox_packets;
  to.runs_per_pass = options.runs_per_pass;
  to.loopback_packets = options.loopback_packets;
  to.work_retry = ToAdapter(options.work_retry);
  to.events_max = options.events_max;
  to.poll_recent = ToAdapter(options.poll_recent);
  to.backoff_min = ToAdapter(options.backoff_min);
  to.backoff_max = ToAdapter(options.backoff_max);
  to.spin = ToAdapter(options.spin);
  to.pager_threads = options.pager_threads;
  to.pager_threads_max = options.pager_threads_max;
  to.page_batch_max = options.page_batch_max;
  to.pin = options.pin;
  to.page_events = options.page_events;
  to.memory_budget = options.memory_budget;
  to.memory_budget_strict = options.memory_budget_strict;
  to.swap = options.swap;
  if (!options.guest.empty()) {
    // Until the broker sets another budget.
    to.memory_budget = std::max(options.guest_min, adapter::kMemoryBudgetMin);
    to.memory_floor = options.guest_min;
  }
  if (options.on_urgent_warning != nullptr) to.on_urgent_warning = options.on_urgent_warning;
  to.memory.key_quarantine = ToAdapter(options.key_quarantine);
  to.memory.remote_through_regions = options.remote_through_regions;
  to.transport = options.transport;
  to.iwarp.mpa_revision = options.mpa_revision;
  to.iwarp.mpa_crc = options.mpa_crc;
  to.base_port = options.base_port;
  to.endpoint_base_port = options.endpoint_base_port;
  to.endpoints_max = options.endpoints_max;
  to.identity_seed = options.identity_seed;
  to.strict = options.strict;
  to.plain_sockets = options.plain_sockets;
  to.trace = options.trace;
  to.connection_manager = true;
  return to;
}

}  // namespace verbena::verbs
