#include "verbs/options.h"

#include <gtest/gtest.h>

#include "verbs/convert.h"

namespace verbena::verbs {
namespace {

// The defaults are in two headers, of which only one is public.
TEST(OptionsTest, DefaultsEqualThoseOfTheAdapter) {
  const adapter::AdapterOptions made = ToAdapter(Options{});
  const adapter::AdapterOptions theirs;
  EXPECT_EQ(made.qps_max, theirs.qps_max);
  EXPECT_EQ(made.cqs_max, theirs.cqs_max);
  EXPECT_EQ(made.srqs_max, theirs.srqs_max);
  EXPECT_EQ(made.tags_max, theirs.tags_max);
  EXPECT_EQ(made.channels_max, theirs.channels_max);
  EXPECT_EQ(made.contexts_max, theirs.contexts_max);
  EXPECT_EQ(made.paths_max, theirs.paths_max);
  EXPECT_EQ(made.multicast_groups_max, theirs.multicast_groups_max);
  EXPECT_EQ(made.multicast_members_max, theirs.multicast_members_max);
  EXPECT_EQ(made.queue_depth_max, theirs.queue_depth_max);
  EXPECT_EQ(made.sges_max, theirs.sges_max);
  EXPECT_EQ(made.inline_max, theirs.inline_max);
  EXPECT_EQ(made.fast_register_pages, theirs.fast_register_pages);
  EXPECT_EQ(made.completion_depth_max, theirs.completion_depth_max);
  EXPECT_EQ(made.reads_max, theirs.reads_max);
  EXPECT_EQ(made.outbox_packets, theirs.outbox_packets);
  EXPECT_EQ(made.runs_per_pass, theirs.runs_per_pass);
  EXPECT_EQ(made.loopback_packets, theirs.loopback_packets);
  EXPECT_EQ(made.work_retry, theirs.work_retry);
  EXPECT_EQ(made.events_max, theirs.events_max);
  EXPECT_EQ(made.poll_recent, theirs.poll_recent);
  EXPECT_EQ(made.backoff_min, theirs.backoff_min);
  EXPECT_EQ(made.backoff_max, theirs.backoff_max);
  EXPECT_EQ(made.spin, theirs.spin);
  EXPECT_EQ(made.pager_threads, theirs.pager_threads);
  EXPECT_EQ(made.pager_threads_max, theirs.pager_threads_max);
  EXPECT_EQ(made.page_batch_max, theirs.page_batch_max);
  EXPECT_EQ(made.pin, theirs.pin);
  EXPECT_EQ(made.page_events, theirs.page_events);
  EXPECT_EQ(made.memory_budget, theirs.memory_budget);
  EXPECT_EQ(made.memory_budget_strict, theirs.memory_budget_strict);
  EXPECT_EQ(made.swap, theirs.swap);
  EXPECT_EQ(made.base_port, theirs.base_port);
  EXPECT_EQ(made.endpoint_base_port, theirs.endpoint_base_port);
  EXPECT_EQ(made.endpoints_max, theirs.endpoints_max);
  EXPECT_EQ(made.identity_seed, theirs.identity_seed);
  EXPECT_EQ(made.strict, theirs.strict);
  EXPECT_EQ(made.plain_sockets, theirs.plain_sockets);
  EXPECT_EQ(made.memory.domains_max, theirs.memory.domains_max);
  EXPECT_EQ(made.memory.key_slots_max, theirs.memory.key_slots_max);
  EXPECT_EQ(made.memory.key_quarantine, theirs.memory.key_quarantine);
  EXPECT_EQ(made.memory.remote_through_regions, theirs.memory.remote_through_regions);
}

TEST(OptionsTest, EveryOptionIsConverted) {
  Options options;
  options.qps_max = 1;
  options.key_slots_max = 2;
  options.domains_max = 3;
  options.spin = std::chrono::microseconds(4);
  options.base_port = 5;
  options.endpoint_base_port = 7;
  options.endpoints_max = 8;
  options.identity_seed = 9;
  options.strict = true;
  options.pin = true;
  options.page_events = true;
  options.memory_budget = 6;
  options.swap = "/there";
  options.remote_through_regions = false;
  const adapter::AdapterOptions made = ToAdapter(options);
  EXPECT_EQ(made.qps_max, 1U);
  EXPECT_EQ(made.memory.key_slots_max, 2U);
  EXPECT_EQ(made.memory.domains_max, 3U);
  EXPECT_EQ(made.spin, Microseconds(4));
  EXPECT_EQ(made.base_port, 5);
  EXPECT_EQ(made.endpoint_base_port, 7);
  EXPECT_EQ(made.endpoints_max, 8U);
  EXPECT_EQ(made.identity_seed, 9U);
  EXPECT_TRUE(made.strict);
  EXPECT_TRUE(made.pin);
  EXPECT_TRUE(made.page_events);
  EXPECT_FALSE(made.memory.remote_through_regions);
}

// Contexts share an adapter if their options are equal.
TEST(OptionsTest, ComparisonIncludesTheCallback) {
  Options a, b;
  EXPECT_EQ(a, b);
  b.trace = "file";
  EXPECT_NE(a, b);
  a.trace = "file";
  a.on_urgent_warning = [](const std::string&) {};
  EXPECT_NE(a, b);
  b.on_urgent_warning = a.on_urgent_warning;
  EXPECT_EQ(a, b);
  EXPECT_TRUE(ToAdapter(a).on_urgent_warning);
  EXPECT_FALSE(ToAdapter(Options{}).on_urgent_warning);
}

}  // namespace
}  // namespace verbena::verbs
