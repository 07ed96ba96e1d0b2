#include "tests/support/seed_options.h"

#include <gtest/gtest.h>

namespace verbena {
namespace {

TEST(SeedOptionsTest, OneSeedOrARange) {
  EXPECT_EQ(ParseSeeds("7"), (SeedRange{7, 7}));
  EXPECT_EQ(ParseSeeds("3..2000"), (SeedRange{3, 2000}));
  EXPECT_EQ(ParseSeeds("5..5"), (SeedRange{5, 5}));
}

TEST(SeedOptionsTest, RefusesWhatIsNoRange) {
  for (const char* const text :
       {"", "x", "-1", "1..", "..2", "2..1", "1...3", "1..2..3", "1234567890123456789"}) {
    EXPECT_FALSE(ParseSeeds(text).has_value()) << text;
  }
}

TEST(SeedOptionsTest, SeedTakesANumberAndSeedsARange) {
  SeedRange seeds;
  EXPECT_TRUE(ParseSeedOption("--seed", "9", seeds));
  EXPECT_EQ(seeds, (SeedRange{9, 9}));
  EXPECT_FALSE(ParseSeedOption("--seed", "1..2", seeds));
  EXPECT_TRUE(ParseSeedOption("--seeds", "1..2", seeds));
  EXPECT_EQ(seeds, (SeedRange{1, 2}));
  EXPECT_FALSE(ParseSeedOption("--sed", "1", seeds));
}

TEST(SeedOptionsTest, AnOptionNeedsItsValue) {
  char program[] = "p", flag[] = "--flag", option[] = "--option", value[] = "v";
  const auto is_flag = [](std::string_view name) { return name == "--flag"; };
  const auto is_option = [](std::string_view name, std::string_view v) {
    return name == "--option" && v == "v";
  };
  char* good[] = {program, flag, option, value};
  EXPECT_TRUE(ParseArguments(4, good, is_flag, is_option));
  char* without[] = {program, flag, option};
  EXPECT_FALSE(ParseArguments(3, without, is_flag, is_option));
  char* unknown[] = {program, value, flag};
  EXPECT_FALSE(ParseArguments(3, unknown, is_flag, is_option));
}

}  // namespace
}  // namespace verbena
