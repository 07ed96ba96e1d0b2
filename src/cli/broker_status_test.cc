#include "cli/broker_status.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/json.h"

namespace verbena::cli {
namespace {

const host::BrokerStatus kStatus{.budget = 256 << 20,
                                 .committed = 128 << 20,
                                 .guests = {{.name = "web",
                                             .pid = 4711,
                                             .registered = 256 << 20,
                                             .resident = 64 << 20,
                                             .swapped = 32 << 20,
                                             .grant = 65 << 20,
                                             .faults = 17,
                                             .stage_faults = {18, 19},
                                             .quiesced = 1,
                                             .waiting = 2,
                                             .operations = 21,
                                             .is_rogue = true},
                                            {.name = "gone", .is_absent = true}}};

TEST(BrokerStatusTest, TheTableHasALineForEachGuest) {
  const std::string table = ToTable(kStatus);
  EXPECT_EQ(table.substr(0, table.find('\n')), "budget 256 MiB, committed 128 MiB, 2 guests");
  for (const char* const word : {"web", "4711", "64 MiB", "32 MiB", "65 MiB", "17", "18", "19",
                                 "21", "rogue", "absent", "registered", "waiting"}) {
    EXPECT_NE(table.find(word), std::string::npos) << word;
  }
  EXPECT_EQ(ToTable({.budget = 1 << 20}), "budget 1 MiB, committed 0 bytes, 0 guests\n");
}

TEST(BrokerStatusTest, JsonHasTheSameFields) {
  const auto json = FromText(ToJsonText(kStatus));
  EXPECT_EQ(json["budget"], 256 << 20);
  EXPECT_EQ(json["guests"][0]["name"], "web");
  EXPECT_EQ(json["guests"][0]["grant"], 65 << 20);
  EXPECT_EQ(json["guests"][0]["waiting"], 2);
  EXPECT_EQ(json["guests"][0]["operations"], 21);
  EXPECT_EQ(json["guests"][0]["first_stage_faults"], 18);
  EXPECT_EQ(json["guests"][0]["second_stage_faults"], 19);
  EXPECT_EQ(json["guests"][1]["absent"], true);
}

TEST(BrokerStatusTest, PartsAreAnOffsetAndALength) {
  EXPECT_EQ(ParsePart("1M:256K"), (host::RegionPart{1 << 20, 256 << 10}));
  EXPECT_EQ(ParsePart("0:1"), (host::RegionPart{0, 1}));
  for (const char* const bad : {"", "1M", ":", "1M:", ":1M", "1M:0", "1:2:3", "x:1"}) {
    EXPECT_FALSE(ParsePart(bad)) << bad;
  }
}

TEST(BrokerStatusTest, ARegionIsAnLKeyInHexOrDecimal) {
  EXPECT_EQ(ParseRegion("0x1234"), host::RegionNumber(0x1234));
  EXPECT_EQ(ParseRegion("99"), host::RegionNumber(99));
  for (const char* const bad : {"", "0x", "12 ", "-1", "0x100000000", "x"}) {
    EXPECT_FALSE(ParseRegion(bad)) << bad;
  }
}

}  // namespace
}  // namespace verbena::cli
