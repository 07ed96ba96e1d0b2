#include "verbs/options.h"

#include <gtest/gtest.h>

namespace verbena::verbs {
namespace {

TEST(OptionsTest, TheAdapterHasTheOptionsOfItsDevice) {
  Options options;
  options.qps_max = 1;
  options.spin = std::chrono::microseconds(4);
  options.memory_budget = 6;
  options.swap = "/there";
  const Options& made = ToAdapter(options);
  EXPECT_EQ(made, options);
}

TEST(OptionsTest, OptionsOfTheMemoryCoreAreConverted) {
  Options options;
  options.key_slots_max = 2;
  options.domains_max = 3;
  options.key_quarantine = std::chrono::milliseconds(4);
  options.remote_through_regions = false;
  const memory::MemoryOptions made = MemoryOptionsOf(ToAdapter(options));
  EXPECT_EQ(made.key_slots_max, 2U);
  EXPECT_EQ(made.domains_max, 3U);
  EXPECT_EQ(made.key_quarantine, Milliseconds(4));
  EXPECT_FALSE(made.remote_through_regions);
}

// The defaults of inner layers are in headers of their own.
TEST(OptionsTest, DefaultsEqualThoseOfInnerLayers) {
  EXPECT_EQ(PortsOf(ToAdapter(Options{})).ports, adapter::PortMap{}.ports);
  const adapter::IwarpOptions iwarp = IwarpOptionsOf(ToAdapter(Options{}));
  EXPECT_EQ(iwarp.mpa_revision, adapter::IwarpOptions{}.mpa_revision);
  EXPECT_EQ(iwarp.mpa_crc, adapter::IwarpOptions{}.mpa_crc);
  const memory::MemoryOptions made = MemoryOptionsOf(ToAdapter(Options{}));
  const memory::MemoryOptions theirs;
  EXPECT_EQ(made.key_slots_max, theirs.key_slots_max);
  EXPECT_EQ(made.domains_max, theirs.domains_max);
  EXPECT_EQ(made.key_quarantine, theirs.key_quarantine);
  EXPECT_EQ(made.remote_through_regions, theirs.remote_through_regions);
}

TEST(OptionsTest, OptionsOfIwarpAreConverted) {
  Options options;
  options.mpa_revision = 1;
  options.mpa_crc = false;
  const adapter::IwarpOptions made = IwarpOptionsOf(ToAdapter(options));
  EXPECT_EQ(made.mpa_revision, 1);
  EXPECT_FALSE(made.mpa_crc);
}

TEST(OptionsTest, AGuestStartsWithItsMinimum) {
  Options options;
  options.guest = "one";
  options.guest_min = uint64_t{8} << 20;
  const adapter::AdapterOptions made = ToAdapter(options);
  EXPECT_EQ(made.memory_budget, options.guest_min);
  EXPECT_EQ(made.memory_floor, options.guest_min);
  options.guest_min = uint64_t{64} << 10;
  EXPECT_EQ(ToAdapter(options).memory_budget, adapter::kMemoryBudgetMin);
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
}

}  // namespace
}  // namespace verbena::verbs
